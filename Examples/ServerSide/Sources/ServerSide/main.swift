import AsyncHTTPClient
import BlobStreamsNIO
import BlobStreamsStandard
import Foundation

// Uploads the bytes of a locator with PUT, and prints the response:
// ServerSide zip+file:///backup.zip#photo.jpg http://127.0.0.1:8080/photo.jpg
// With `gzip` as the last argument, the body is compressed while it is sent, and again for each redirection.
guard CommandLine.arguments.count == 3 || CommandLine.arguments.dropFirst(3) == ["gzip"] else {
    FileHandle.standardError.write(Data("usage: ServerSide LOCATOR URL [gzip]\n".utf8))
    exit(64)
}
var request = HTTPClientRequest(url: CommandLine.arguments[2])
request.method = .PUT

do {
    // Includes the asset library of BLOB_LIBRARY, as in the other examples.
    var registry = BlobRegistry.standard
    if let folder = ProcessInfo.processInfo.environment["BLOB_LIBRARY"] {
        try registry.register(.assetLibrary(at: URL(fileURLWithPath: folder)))
    }
    var source = try registry.source(for: CommandLine.arguments[1])
    if CommandLine.arguments.count > 3 {
        source = GzipEncodedSource(source)
        request.headers.add(name: "Content-Encoding", value: "gzip")
    }
    let response = try await HTTPClient.shared.upload(source, as: request)
    let body = try await response.body.collect(upTo: 1 << 20)
    print(response.status, String(buffer: body), terminator: "")
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit((error as? BlobError)?.code.exitStatus ?? BlobError.Code.internalError.exitStatus)
}
