import BlobStreams
import Foundation

/// One pass of encoding over a reader of what is to be encoded.
final class GzipEncodedReader: BlobReader {
    private let base: BlobGuardedReader
    private let level: Int
    private let encodedInfo: (BlobInfo) -> BlobInfo
    private let derived: DerivedReadiness?
    private var encoder: GzipEncoder?  // From the first read on.
    private var isAtEnd = false
    private var failure: (any Error)?

    /// - Parameters:
    ///   - base: At the start of its bytes; this reader owns it now.
    ///   - info: Makes the info of the encoded bytes from that of the base, which may become known late.
    init(_ base: BlobGuardedReader, level: Int, info: @escaping (BlobInfo) -> BlobInfo) {
        self.base = base
        self.level = level
        self.encodedInfo = info
        self.derived = DerivedReadiness(following: base)
    }

    var info: BlobInfo { self.encodedInfo(self.base.info) }
    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state }
    func property(forKey key: Stream.PropertyKey) -> Any? { self.base.property(forKey: key) }
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.base.setProperty(value, forKey: key)
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        guard !self.isAtEnd else { return }
        do {
            let count = try self.encode(into: &output)
            guard !self.isAtEnd else { return }
            self.derived?.refresh(afterReading: count, holdingBytes: self.encoder?.holdsBytes ?? false)
        } catch {
            self.failure = error
            self.derived?.fail(error)
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.derived?.stop()
        self.base.close()
        self.encoder = nil
    }

    /// Appends something, or nothing at the end or when an event-driven base has nothing for now.
    private func encode(into output: inout OutputRawSpan) throws -> Int {
        if self.encoder == nil { self.encoder = try GzipEncoder(level: self.level) }
        let count = try self.encoder?.encode(into: &output) { [base] free in
            let count = try base.read(into: free)
            return count == 0 && base.hasEnded ? nil : count
        }
        guard self.encoder?.isAtEnd ?? true, count ?? 0 == 0 else { return count ?? 0 }
        self.isAtEnd = true
        self.derived?.end()
        return 0
    }
}
