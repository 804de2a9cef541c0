import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns this source with a layer that computes the digest of the bytes that pass, and checks it before the end
    /// is reported.
    ///
    /// The digest is that of the whole blob: opened at an offset, the layer reads and drops the bytes before it, so
    /// that the end always means that the digest was checked. It therefore has no random access.
    ///
    /// ```swift
    /// let checked = source.hashing(with: CryptoDigest.sha256, expected: digest)
    /// ```
    ///
    /// - Parameters:
    ///   - digest: The algorithm.
    ///   - expected: The expected digest; if it differs, the last read throws ``BlobError/Code/checksumMismatch``
    ///     instead of returning the end. Nil checks nothing.
    ///   - onDigest: A closure that receives the digest at the end of each pass, on the reading thread, before the end
    ///     is reported.
    public func hashing(
        with digest: any BlobDigest, expected: [UInt8]? = nil, onDigest: (@Sendable ([UInt8]) -> Void)? = nil
    ) -> some BlobInputStreamDataSource {
        DigestSource(self, digest: digest, expected: expected, onDigest: onDigest)
    }
}

/// A layer that computes the digest of the bytes that pass, and checks it before the end is reported.
package struct DigestSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let digest: any BlobDigest
    private let expected: [UInt8]?
    private let onDigest: (@Sendable ([UInt8]) -> Void)?

    package init(
        _ base: any BlobInputStreamDataSource, digest: any BlobDigest, expected: [UInt8]? = nil,
        onDigest: (@Sendable ([UInt8]) -> Void)? = nil
    ) {
        self.base = base
        self.digest = digest
        self.expected = expected
        self.onDigest = onDigest
    }

    package func info(over base: BlobInfo) throws -> BlobInfo {
        var info = base
        info.isRandomAccess = false
        return info
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        let base = try self.base.open(matching: validator, context: context)
        try base.info.check(byteOffset: byteOffset, matching: nil)
        let reader = DigestReader(base, self.digest.makeHasher()) { found in
            self.onDigest?(found)
            guard let expected = self.expected, expected != found else { return }
            throw BlobError(
                .checksumMismatch,
                "The \(self.digest.name) digest is \(found.hexadecimal), expected was \(expected.hexadecimal).")
        }
        return reader.skipping(byteOffset)
    }
}

private final class DigestReader: ForwardingReader {
    let base: any BlobPluginReader
    var info: BlobInfo {
        var info = self.base.info
        info.isRandomAccess = false
        return info
    }
    private let finish: ([UInt8]) throws -> Void
    private var hasher: any BlobHasher
    private var outcome: Result<Void, any Error>?

    init(_ base: any BlobPluginReader, _ hasher: any BlobHasher, finish: @escaping ([UInt8]) throws -> Void) {
        self.base = base
        self.hasher = hasher
        self.finish = finish
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        var result = BlobReadResult.end
        try output.append(atMost: .max) { part in
            result = try self.base.read(into: &part)
            part.bytes.withUnsafeBytes { self.hasher.update($0) }
        }
        guard result == .end else { return result }
        let outcome = self.outcome ?? Result { try self.finish(self.hasher.finalize()) }
        self.outcome = outcome
        try outcome.get()
        return .end
    }
}
