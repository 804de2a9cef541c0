import BlobStreamsStandard
import BlobTransfer
import Foundation

/// Sends a file that is mapped into memory, as application/octet-stream.
///
/// Pages are read as they are sent, and need no memory of their own. If another process shortens the file meanwhile,
/// this one is ended by a signal: with `FileSource`, which does not map, it would be an error.
func uploadMapped(_ path: String, to url: String) async throws {
    let info = try FileSource(path: path).info()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
    try await send(MemorySource(bytes, mediaType: "application/octet-stream", name: info.name), .post, to: url)
}
