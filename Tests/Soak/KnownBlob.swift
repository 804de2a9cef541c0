import BlobStreamsStandard
import BlobTestSupport
import Foundation

/// A blob whose bytes are known, and the way from a file to it.
struct KnownBlob: Sendable {
    /// How sources of the file's bytes become sources of the blob's.
    typealias Decoding =
        @Sendable (any BlobInputStreamDataSource, BlobIndexPolicy) throws -> any BlobInputStreamDataSource

    /// How sources of the file's bytes are made.
    typealias Base = @Sendable () throws -> any BlobInputStreamDataSource

    let name: String
    let bytes: Data
    /// The SHA-256 digest of the bytes.
    let digest: [UInt8]
    /// True when the format has checksums: then a change of the file gives an error.
    let isChecked: Bool
    /// True when each reader starts a process.
    let isCostly: Bool
    /// Returns a source of the file's bytes.
    let makeBase: Base
    private let decoding: Decoding
    private let index: BlobIndexPolicy
    private let sharedBase: any BlobInputStreamDataSource
    /// The source that all jobs share, with its index.
    let shared: any BlobInputStreamDataSource

    private init(
        _ name: String, _ bytes: Data, isChecked: Bool = true, isCostly: Bool = false, over makeBase: @escaping Base,
        _ index: BlobIndexPolicy, _ decoding: @escaping Decoding
    ) throws {
        (self.name, self.bytes, self.isChecked, self.isCostly) = (name, bytes, isChecked, isCostly)
        self.digest = CryptoDigest.sha256.digest(of: bytes)
        (self.makeBase, self.decoding, self.index) = (makeBase, decoding, index)
        self.sharedBase = try makeBase()
        self.shared = try decoding(self.sharedBase, index)
    }

    /// Reads a byte of each window of the shared source of the file: its cache, which has a limit, is then full.
    func fillCache() throws {
        var context = BlobContext()
        context.mayBlock = true
        let info = try self.sharedBase.info(context)
        guard info.isRandomAccess, let byteCount = info.byteCount else { return }
        for offset in stride(from: 0, to: byteCount, by: 64 << 10) {
            let reader = try self.sharedBase.open(at: offset, context: context)
            defer { reader.close() }
            _ = try Data(readingAtMost: 1, from: reader)
        }
    }

    /// Returns a source of the blob over a source of the file's bytes, which may have faults.
    func source(over base: any BlobInputStreamDataSource) throws -> any BlobInputStreamDataSource {
        try self.decoding(base, .none)
    }

    /// Returns the blob over other sources of the file's bytes.
    func over(_ name: String, _ makeBase: @escaping Base) throws -> KnownBlob {
        try KnownBlob(name, self.bytes, isChecked: self.isChecked, over: makeBase, self.index, self.decoding)
    }

    /// More sources of the bytes of `big`, whose locators are in SOAK_LOCATORS.
    static func more(_ folder: String) throws -> [KnownBlob] {
        let locators = ProcessInfo.processInfo.environment["SOAK_LOCATORS"] ?? ""
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/big"))
        return try locators.split(separator: " ").map(String.init).map { text in
            let base: Base = { try BlobRegistry.standard.source(for: text) }
            return try KnownBlob(text, bytes, isChecked: false, over: base, .none) { base, _ in base }
        }
    }

    private static func member(_ name: String, _ format: ArchiveFormat) -> Decoding {
        { base, index in
            try ArchiveContainer(base, format: format, index: index).member(.name(name), context: BlobContext())
        }
    }

    private static func blocks(_ format: CompressionFormat) -> Decoding {
        { base, _ in DecompressedSource(base, format: format) }
    }

    /// The blobs of a folder that Tests/SystemCallFaults/fixtures.py made, as far as their files are there.
    static func all(in folder: String, indexes: String) throws -> [KnownBlob] {
        let big = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/big"))
        let small = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/small"))
        let medium = big.prefix(1 << 20)
        let index = BlobIndexPolicy.folder(indexes, maximumByteCount: 1 << 26)
        let gzip: Decoding = { GzipSource($0, format: .gzip, index: $1) }
        let tarGzip: Decoding = { base, index in try self.member("small", .tar)(gzip(base, index), index) }
        let candidates: [(file: String, bytes: Data, isChecked: Bool, isCostly: Bool, decoding: Decoding)] = [
            ("big", big, false, false, { base, _ in base }), ("small", small, false, false, { base, _ in base }),
            ("big.gz", big, true, false, gzip), ("small.gz", small, true, false, gzip),
            ("big.bgzf", big, true, false, gzip), ("a.tar.gz", small, true, false, tarGzip),
            ("a.tar", small, false, false, member("small", .tar)),
            ("a.zip", small, true, false, member("stored", .zip)),
            ("a.zip", small, true, false, member("deflated", .zip)),
            ("a.zip", small, true, false, member("lzma", .zip)),
            ("a.7z", small, true, false, member("small", .sevenzip)), ("big.xz", medium, true, false, blocks(.xz)),
            ("big.bz2", medium, true, false, blocks(.bzip2)), ("small.zst", small, true, false, blocks(.zstd)),
            ("a.rar", small, true, true, member("small", .rar)),
        ]
        return try candidates.compactMap { candidate in
            let path = "\(folder)/\(candidate.file)"
            guard FileManager.default.fileExists(atPath: path) else { return nil }
            return try KnownBlob(
                candidate.file, candidate.bytes, isChecked: candidate.isChecked, isCostly: candidate.isCostly,
                over: { FileSource(path: path) }, index, candidate.decoding)
        }
    }
}
