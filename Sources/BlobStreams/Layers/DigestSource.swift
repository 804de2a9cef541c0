import Foundation

/// Computes the digest of what passes, and checks it before the end is reported.
///
/// A digest is one of the whole blob: opened at an offset, the bytes before it are read and dropped, so that the end
/// always means that the digest was checked. That is why this layer takes the random access from its base.
public struct DigestSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let digest: any BlobDigest
    private let expected: [UInt8]?
    private let onDigest: (@Sendable ([UInt8]) -> Void)?

    /// Creates a layer over `base`.
    ///
    /// - Parameters:
    ///   - base: What to read.
    ///   - digest: The algorithm.
    ///   - expected: What the digest must be; otherwise the last read throws ``BlobError/Code/checksumMismatch``
    ///     instead of the end. Nil checks nothing.
    ///   - onDigest: Told the digest at the end of each pass, on the reading thread, before the end is reported.
    public init(
        _ base: any BlobInputStreamDataSource, digest: any BlobDigest, expected: [UInt8]? = nil,
        onDigest: (@Sendable ([UInt8]) -> Void)? = nil
    ) {
        self.base = base
        self.digest = digest
        self.expected = expected
        self.onDigest = onDigest
    }

    /// True when the base never blocks.
    public var neverBlocks: Bool { self.base.neverBlocks }

    /// Those of the base but random access.
    public var capabilities: BlobCapabilities { self.base.capabilities.subtracting(.randomAccess) }

    /// That of the base: the bytes are the same.
    public var locator: BlobLocator? { self.base.locator }

    /// That of the base.
    public func info(_ context: BlobContext) throws -> BlobInfo { try self.base.checkedInfo(context) }

    /// Opens a reader of the base at its start.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let base = try self.base.open(matching: validator, context: context)
        let reader = DigestReader(base, self.digest.makeHasher()) { found in
            self.onDigest?(found)
            guard let expected = self.expected, expected != found else { return }
            throw BlobError(
                .checksumMismatch,
                "The \(self.digest.name) digest is \(found.hexadecimal), expected was \(expected.hexadecimal).")
        }
        do {
            try base.info.check(byteOffset: byteOffset, matching: nil)
        } catch {
            reader.close()
            throw error
        }
        return SkippingReader(reader, bytesToSkip: byteOffset)
    }
}

private final class DigestReader: BlobReader {
    private let base: BlobGuardedReader
    private let finish: ([UInt8]) throws -> Void
    private var hasher: (any BlobHasher)?
    private var failure: (any Error)?

    init(_ base: BlobGuardedReader, _ hasher: any BlobHasher, finish: @escaping ([UInt8]) throws -> Void) {
        self.base = base
        self.hasher = hasher
        self.finish = finish
    }

    var info: BlobInfo { self.base.info }
    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            var result = BlobReadResult.end
            try output.append(atMost: .max) { part in
                result = try self.base.read(into: &part)
                part.bytes.withUnsafeBytes { self.hasher?.update($0) }
            }
            if result == .end, var hasher = self.hasher {
                self.hasher = nil
                try self.finish(hasher.finalize())
            }
            return result
        } catch {
            self.failure = error
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }
}
