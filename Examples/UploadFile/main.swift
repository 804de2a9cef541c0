import BlobStreamsStandard
import BlobURLSession
import Foundation

// Uploads a file with PUT and prints the answer: UploadFile photo.jpg http://127.0.0.1:8080/photo.jpg
guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[2]) else {
    printToStandardError("usage: UploadFile FILE URL\n")
    exit(64)
}
let source = FileSource(path: CommandLine.arguments[1])
var request = URLRequest(url: url)
request.httpMethod = "PUT"

do {
    let (answer, response) = try await BlobUploader().upload(source, with: request) { byteOffset, byteCount in
        printToStandardError("\r\(byteOffset) of \(byteCount.map(String.init) ?? "?") bytes")
    }
    printToStandardError("\n")
    print(response.statusCode, String(decoding: answer, as: UTF8.self))
    exit((200...299).contains(response.statusCode) ? 0 : 76)
} catch let error as BlobError {
    printToStandardError("\n\(error)\n")
    exit(1)
}

@Sendable func printToStandardError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
