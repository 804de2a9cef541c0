import BlobStreamsStandard
import ExampleProgram
import Foundation
import MultipartFormData
import MultipartURLRequest

// Composes a form from five kinds of source, and prints its length and digest.
await ExampleProgram.run("ComposeForm LOCATOR", taking: 1...1) { arguments, registry in
    let file = try registry.source(for: arguments[0])
    var form = MultipartForm()
    try form.appendPart(value: "Five kinds of source", name: "title")

    // A file or any other locator, which provides its own name and media type.
    try form.appendPart(source: file, name: "file")

    // Data in memory.
    try form.appendPart(data: Data("{\"kinds\": 5}".utf8), name: "data", fileName: "data.json")

    // A range of another source.
    try form.appendPart(source: file.slice(0..<4), name: "slice", fileName: "first4.bin")

    // Bytes that are computed when they are read, at any offset.
    let squares = ClosureSource(info: BlobInfo(byteCount: 1_000_000)) { offset, output, _ in
        for number in offset..<min(offset + Int64(output.freeCapacity), 1_000_000) {
            output.append(UInt8(truncatingIfNeeded: number &* number))
        }
    }
    try form.appendPart(source: squares, name: "closure", fileName: "squares.bin")

    // Any InputStream, created again each time the body is read.
    try form.appendPart(
        makingStreams: { InputStream(data: Data("from a stream".utf8)) }, byteCount: 13, name: "stream",
        fileName: "stream.txt")

    // With a fixed boundary, the same parts produce the same bytes in each run.
    let body = try form.body(boundary: MultipartBoundary("five-kinds"))

    /// Returns the digest of the body from an offset to its end.
    func digest(from byteOffset: Int64) async throws -> String {
        var hasher = CryptoDigest.sha256.makeHasher()
        for try await chunk in body.chunks(ofAtMost: 1 << 16, at: byteOffset) {
            chunk.withUnsafeBytes { hasher.update($0) }
        }
        return hasher.finalizeHexadecimal()
    }

    print(body.contentType)
    print("\(body.byteCount.map(String.init) ?? "?") bytes, SHA-256 \(try await digest(from: 0))")
    print("from byte 500000, SHA-256 \(try await digest(from: 500_000))")
}
