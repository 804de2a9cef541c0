import BlobStreamsStandard
import BlobTransfer
import Foundation

// Uploads a file with PUT and prints the answer: UploadFile photo.jpg http://127.0.0.1:8080/photo.jpg
guard CommandLine.arguments.count == 3 else {
    printToStandardError("usage: UploadFile FILE URL\n")
    exit(64)
}
let source = FileSource(path: CommandLine.arguments[1])
var request = BlobUploadRequest(.put, CommandLine.arguments[2])
request.onProgress = { sent, byteCount in
    printToStandardError("\r\(sent) of \(byteCount.map(String.init) ?? "?") bytes")
}

do {
    let response = try await BlobUploader().upload(source, with: request)
    printToStandardError("\n")
    print(response.status, String(decoding: response.body, as: UTF8.self))
} catch let error {
    printToStandardError("\n\(error)\n")
    if let refusal = error.cause as? BlobUploadRefusal {
        print(refusal.response.status, String(decoding: refusal.response.body, as: UTF8.self))
    }
    exit(error.code == .refused ? 76 : 1)
}

@Sendable func printToStandardError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
