import BlobStreams
import BlobTestSupport
import Foundation
import MultipartFormData
import Testing

/// All bytes of a source, read on a thread of its own.
func bytes(
    of source: any BlobInputStreamDataSource, from byteOffset: Int64 = 0, chunk: Int = 1 << 16
) async throws -> Data {
    try await onThread {
        let reader = try source.open(at: byteOffset)
        defer { reader.close() }
        return Data(try readAll(reader, inPiecesOf: chunk))
    }
}

/// The body of a form that `append` fills, with boundary `B`.
func makeBody(
    naming: MultipartNaming = MultipartNaming(), boundary: String = "B",
    _ append: (inout MultipartForm) throws -> Void
) throws -> MultipartBody {
    var form = MultipartForm(naming: naming)
    try append(&form)
    return try form.body(boundary: MultipartBoundary(boundary))
}

/// A file with these bytes in a folder of its own, which `body` may use.
func withFile<Value>(_ name: String, _ bytes: Data, _ body: (URL) async throws -> Value) async throws -> Value {
    let folder = try TemporaryFolder()
    try folder.write(Array(bytes), to: name)
    return try await body(folder.url(name))
}
