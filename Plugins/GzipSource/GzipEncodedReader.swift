import BlobCore

/// A reader that encodes the bytes of another reader in one pass.
final class GzipEncodedReader: BlobPluginReader {
    private let base: BlobReader
    private let level: Int
    private let encodedInfo: (BlobInfo) -> BlobInfo
    private var encoder: GzipEncoder?  // Created by the first read.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - base: A reader at the start of its bytes, which this reader takes over.
    ///   - info: Returns the info of the encoded bytes for that of the base, which may become known late.
    init(_ base: BlobReader, level: Int, info: @escaping (BlobInfo) -> BlobInfo) {
        self.base = base
        self.level = level
        self.encodedInfo = info
    }

    var info: BlobInfo { self.encodedInfo(self.base.info) }
    // After an error, a read throws it.
    var isOpen: Bool { self.base.isOpen || self.base.hasFailed }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            if self.encoder == nil { self.encoder = try GzipEncoder(level: self.level) }
            // The info must be final before the first byte, here of the header, is delivered.
            if !self.base.isOpen {
                _ = try self.encoder?.gather { [base] in try base.read(into: &$0) }
                guard self.base.isOpen else { return .notYet }
            }
            return try self.encoder?.encode(into: &output) { [base] in try base.read(into: &$0) } ?? .end
        } catch {
            self.failure = error
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.base.close()
        self.encoder = nil
    }
}
