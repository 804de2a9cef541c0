import BlobStreams
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
        var all = Data()
        while case let piece = try Data(readingAtMost: chunk, from: reader), !piece.isEmpty { all += piece }
        return all
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

/// The error that `body` throws.
func errorThrown(by body: () async throws -> some Any) async -> BlobError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return BlobError(wrapping: error)
    }
}

/// A file with these bytes in a folder of its own, which `body` may use.
func withFile<Value>(_ name: String, _ bytes: Data, _ body: (URL) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("form-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent(name)
    try bytes.write(to: file)
    return try await body(file)
}

extension Data {
    /// What one read brings.
    init(readingAtMost byteCount: Int, from reader: BlobGuardedReader) throws {
        self = try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { buffer in
            Data(buffer[..<(try reader.readWaiting(into: buffer))])
        }
    }
}
