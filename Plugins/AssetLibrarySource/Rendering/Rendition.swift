import BlobCore

/// A rendered picture, or the facts about one that is too long to be kept.
final class Rendition: Sendable {
    let info: BlobInfo
    /// The SHA-256 of the bytes.
    let sha256: [UInt8]
    /// The bytes; nil for a long picture, which is rendered again for each reader.
    private let bytes: [UInt8]?

    init(_ info: BlobInfo, sha256: [UInt8], bytes: [UInt8]?) {
        (self.info, self.sha256, self.bytes) = (info, sha256, bytes)
    }

    func body(_ rendering: Rendering, _ context: BlobContext) throws(BlobError) -> BlobBody {
        guard let bytes else { return .stream(try RenditionStream(self, rendering, context), startingAt: 0) }
        return .positional(self.info) { byteOffset, output in
            bytes.withUnsafeBytes {
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[Int(byteOffset)...]))
            }
        }
    }
}

/// The bytes of a picture that is rendered once more, and checked to be the same.
private final class RenditionStream: BlobByteStream {
    let info: BlobInfo?
    private let sha256: [UInt8]
    private let pass: RenderingPass
    private var hasher = RenderingPass.makeHasher()
    private var rest: ArraySlice<UInt8> = []

    init(_ rendition: Rendition, _ rendering: Rendering, _ context: BlobContext) throws(BlobError) {
        (self.info, self.sha256) = (rendition.info, rendition.sha256)
        self.pass = try RenderingPass(rendering, nil, context)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.rest.isEmpty {
            self.rest = try self.pass.next()[...]
            self.rest.withUnsafeBytes { self.hasher.update($0) }
            guard !self.rest.isEmpty || self.hasher.finalize() == self.sha256 else { throw Rendering.isAnother }
        }
        return .moving(&self.rest, to: &output)
    }
}
