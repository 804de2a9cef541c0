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

    func makeReader(
        at byteOffset: Int64, _ rendering: Rendering, _ context: BlobContext
    ) throws(BlobError) -> any BlobPluginReader {
        guard let bytes else { return try StreamedRenditionReader(self, at: byteOffset, rendering, context) }
        return KeptRenditionReader(self.info, bytes[Int(byteOffset)...])
    }
}

/// A reader of a picture in memory.
private final class KeptRenditionReader: BlobPluginReader {
    let info: BlobInfo
    private var rest: ArraySlice<UInt8>?

    init(_ info: BlobInfo, _ rest: ArraySlice<UInt8>) { (self.info, self.rest) = (info, rest) }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard let rest else { throw BlobError(.closed, "The reader is closed.") }
        guard !rest.isEmpty else { return .end }
        let count = rest.withUnsafeBytes { output.append(contentsOf: $0) }
        self.rest = rest.dropFirst(count)
        return .bytes
    }

    func close() { self.rest = nil }
}

/// A reader that renders a picture once more, and checks that it is the same.
private final class StreamedRenditionReader: BlobPluginReader {
    let info: BlobInfo
    private let sha256: [UInt8]
    private var pass: RenderingPass?
    private var hasher = RenderingPass.makeHasher()
    private var toSkip: Int64
    private var rest: ArraySlice<UInt8> = []
    private var failure: BlobError?

    init(
        _ rendition: Rendition, at byteOffset: Int64, _ rendering: Rendering, _ context: BlobContext
    ) throws(BlobError) {
        (self.info, self.sha256, self.toSkip) = (rendition.info, rendition.sha256, byteOffset)
        self.pass = try RenderingPass(rendering, nil, context)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        guard let pass else { return .end }
        do {
            while self.rest.isEmpty {
                let bytes = try pass.next()
                guard !bytes.isEmpty else {
                    guard self.hasher.finalize() == self.sha256 else { throw Rendering.isAnother }
                    self.pass = nil
                    return .end
                }
                bytes.withUnsafeBytes { self.hasher.update($0) }
                self.rest = bytes.dropFirst(Int(min(self.toSkip, Int64(bytes.count))))
                self.toSkip -= Int64(bytes.count - self.rest.count)
            }
            let count = self.rest.withUnsafeBytes { output.append(contentsOf: $0) }
            self.rest = self.rest.dropFirst(count)
            return .bytes
        } catch {
            let error = BlobError(wrapping: error)
            self.failure = error
            self.pass = nil
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.pass = nil
    }
}
