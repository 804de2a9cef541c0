import BlobStreamsStandard
import BlobTransfer
import Foundation

// Uploads a file that is mapped into memory as application/octet-stream: UploadMappedFile film.mov http://127.0.0.1:8080/
guard CommandLine.arguments.count == 3 else {
    print("usage: UploadMappedFile FILE URL")
    exit(64)
}
// Pages are read as they are sent, and need no memory of their own. Whoever shortens the file meanwhile ends the process
// by a signal: with `FileSource`, which does not map, it would be an error.
let file = URL(fileURLWithPath: CommandLine.arguments[1])
let bytes = try Data(contentsOf: file, options: .alwaysMapped)
let source = MemorySource(bytes, mediaType: "application/octet-stream", name: file.lastPathComponent)
do {
    let response = try await BlobUploader().upload(source, with: BlobUploadRequest(.post, CommandLine.arguments[2]))
    print(response.status, String(decoding: response.body, as: UTF8.self))
} catch {
    print(error)
    exit(1)
}
