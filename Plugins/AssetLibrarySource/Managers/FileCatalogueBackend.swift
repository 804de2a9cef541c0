#if Photos
import BlobCore
import BlobHelper
import BlobIndex
import Foundation

/// The backend for readers of other programs' catalogues, which reads the facts about assets from their files.
struct FileCatalogueBackend: AssetBackend {
    /// The rendered pictures of all catalogues.
    private static let renditions = RenditionCache()
    /// The polling interval while an observer waits for changes.
    private static let interval = Duration.seconds(1)

    private let catalogue: any AssetCatalogue

    init(_ catalogue: any AssetCatalogue) { self.catalogue = catalogue }

    var path: String { self.catalogue.path }
    var renditions: RenditionCache { Self.renditions }

    func asset(named id: String, _ context: BlobContext) throws(BlobError) -> Asset? {
        guard let found = try self.catalogue.cataloguedAsset(id) else { return nil }
        let file = try OriginalFile(found.path)
        defer { file.close() }
        let (sha256, _) = try FileDigests.digests(of: file, context)
        return Asset(found, file, sha256: sha256)
    }

    func record(of id: String, _ version: AssetSource.Version) throws(BlobError) -> AssetRecord? {
        guard let found = try self.catalogue.cataloguedAsset(id) else { return nil }
        // If the file was touched, a value other than the digest makes the reader check the file.
        let sha256 = FileStatus(at: found.path).flatMap { FileDigests.cachedDigests(found.path, $0)?.sha256 } ?? []
        return AssetRecord(
            sha256: sha256, storedPath: found.path, generation: found.adjustmentNumber, version)
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile {
        let file = try OriginalFile(asset.storedPath)
        guard file.snapshot.byteCount == asset.byteCount else {
            file.close()
            throw BlobError(.changed, "The original was modified or replaced while it was being opened.")
        }
        return file
    }

    func blocks(
        of asset: Asset, computing: () throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests)
    ) throws(BlobError) -> BlockDigests {
        if let known = FileStatus(at: asset.storedPath).flatMap({ FileDigests.cachedDigests(asset.storedPath, $0) }),
            known.sha256 == asset.sha256
        {
            return known.blocks
        }
        let (sha256, blocks) = try computing()
        guard sha256 == asset.sha256 else {
            throw BlobError(.changed, "The original was modified or replaced while it was being opened.")
        }
        return blocks
    }

    func lastCommit() throws(BlobError) -> CatalogueCommit { CatalogueCommit(number: try self.catalogue.revision()) }

    func observeCommits(_ body: @escaping @Sendable () -> Void) -> [any AnyObject & Sendable] {
        [RepeatedCheck(every: Self.interval, body)]
    }

    func adjustment(of asset: Asset) throws(BlobError) -> Adjustment {
        guard let id = asset.catalogueID, let found = try self.catalogue.cataloguedAsset(id) else { return .none }
        return try self.adjustment(ofCatalogued: found).0
    }

    func adjustment(ofCatalogued found: CataloguedAsset) throws(BlobError) -> (Adjustment, DecodedPicture) {
        let file = try OriginalFile(found.path)
        defer { file.close() }
        let picture = DecodedPicture(found.media.replaced(by: MediaDescription(file.headerBytes)))
        if let adjustment = found.adjustment {
            let checked = try? AdjustmentDescriptions.checkedAdjustment(adjustment, picture)
            return (checked ?? .notRenderable(["made for a picture of a different size"]), picture)
        }
        var descriptions = AdjustmentDescriptions()
        for path in found.sidecarPaths {
            guard let kind = Sidecar.kind(path) else { continue }
            descriptions.sidecars[kind] = try Sidecar.content(Array(path.utf8))
        }
        descriptions.embedded = EmbeddedXMP.find(in: file.headerBytes)
        return (descriptions.adjustment(of: picture), picture)
    }

    func render(of asset: Asset) throws(BlobError) -> String? { nil }

    func media(of asset: Asset, _ context: BlobContext) throws(BlobError) -> MediaDescription {
        let file = try self.file(of: asset)
        defer { file.close() }
        let found = try FactReader(context).describe(file)
        return asset.media.replaced(by: found.media)
    }
}

extension MediaDescription {
    /// Returns the file's own description, with the date from this description if the file contains none.
    ///
    /// Returns this description if the type of the file is unknown.
    fileprivate func replaced(by own: MediaDescription) -> MediaDescription {
        guard own.mediaType != nil else { return self }
        var media = own
        media.captureDate = own.captureDate ?? self.captureDate
        return media
    }
}

extension Asset {
    /// Creates the asset of a file, which may have changed since it was catalogued.
    fileprivate init(_ found: CataloguedAsset, _ file: OriginalFile, sha256: [UInt8]) {
        let seconds = file.snapshot.modificationTime
        self.init(
            id: UUID(bytes: Array(found.id.utf8).sha256), name: found.name, fileExtension: found.fileExtension,
            byteCount: file.snapshot.byteCount, sha256: sha256,
            media: found.media.replaced(by: MediaDescription(file.headerBytes)),
            generation: found.adjustmentNumber, isMissing: false, importDate: Date(nanoseconds: seconds),
            modificationDate: Date(nanoseconds: seconds),
            storedPath: found.path, catalogueID: found.id)
    }
}

extension UUID {
    /// Creates a UUID from the first 16 bytes, with the version for custom content (RFC 9562, version 8).
    fileprivate init(bytes: [UInt8]) {
        var bytes = Array(bytes.prefix(16))
        (bytes[6], bytes[8]) = (bytes[6] & 0x0F | 0x80, bytes[8] & 0x3F | 0x80)
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// A periodic call, on a thread of the pool, until this object is released.
private final class RepeatedCheck: Sendable {
    private let interval: Duration
    private let check: @Sendable () -> Void
    private let context = BlobContext()
    private let timer = Locked<BlobRegistration?>(nil)

    init(every interval: Duration, _ check: @escaping @Sendable () -> Void) {
        (self.interval, self.check) = (interval, check)
        self.wait()
    }

    private func wait() {
        let next: @Sendable () -> Void = { [weak self] in
            self?.check()
            self?.wait()
        }
        let timer = self.context.wake(after: self.interval, BlobWaker { BlockingPool.briefJobs.run(next) })
        self.timer.withLock { $0 = timer }
    }
}

/// The cache of digests of other programs' files, keyed by the status of the file, in memory and in the user's cache
/// folder.
enum FileDigests {
    typealias Digests = (sha256: [UInt8], blocks: BlockDigests)

    /// The maximum size of the cache folder in bytes; 1 MiB suffices for the digests of 8 GiB of originals.
    private static let cacheByteCount: Int64 = 64 << 20
    /// The number of bytes at which the digests in memory are discarded.
    private static let memoryByteCount = 16 << 20
    /// The approximate number of bytes in an entry besides its block digests.
    private static let entryByteCount = 256
    /// The minimum age of a file's last change, in nanoseconds, before its digests are shared with other processes,
    /// because a later change could have the same time.
    private static let settlingTime: Int64 = 100_000_000
    /// The minimum age, in nanoseconds, on a file system with coarse times.
    private static let coarseSettlingTime: Int64 = 3_000_000_000

    private static let memory = Locked<(digests: [String: Digests], byteCount: Int)>(([:], 0))

    private static var cache: CachedFiles? {
        CachedFiles(in: "blob-digests", fileExtension: "sha256", maximumByteCount: self.cacheByteCount)
    }

    /// Returns the digests of an open file, reading the whole file once if they are not cached.
    ///
    /// - Throws: ``BlobError/Code/changed`` if the file was modified during the read; errors while reading.
    static func digests(of file: OriginalFile, _ context: BlobContext) throws(BlobError) -> Digests {
        let status = file.snapshot
        let now = Date().nanoseconds
        if let known = self.cachedDigests(file.path, status) { return known }
        let found = try file.digests(byteCount: status.byteCount, context)
        let key = self.key(file.path, status)
        self.remember(found, key)
        if self.isSettled(status, at: now) {
            let bytes = found.sha256 + found.blocks.serialized(sha256: found.sha256)
            // A failure to write to the cache must not prevent reading.
            bytes.withUnsafeBytes { bytes in try? self.cache?.store(bytes, as: "\(key).sha256") }
        }
        return found
    }

    /// Returns the cached digests of a file with this status; nil if not found.
    static func cachedDigests(_ path: String, _ status: FileStatus) -> Digests? {
        let key = self.key(path, status)
        if let known = self.memory.withLock({ $0.digests[key] }) { return known }
        guard let bytes = try? self.cache?.content(of: "\(key).sha256", atMost: self.cacheByteCount), bytes.count >= 32
        else { return nil }
        let sha256 = Array(bytes[..<32])
        let blocks = BlockDigests(stored: Array(bytes[32...]), byteCount: status.byteCount, sha256: sha256)
        guard let blocks else { return nil }
        self.remember((sha256, blocks), key)
        return (sha256, blocks)
    }

    private static func isSettled(_ status: FileStatus, at now: Int64) -> Bool {
        // Times without fractions are from file systems such as FAT, which has a resolution of two seconds.
        let isCoarse = [status.statusChangeTime, status.modificationTime].contains { $0 % 1_000_000_000 == 0 }
        return status.statusChangeTime < now - (isCoarse ? self.coarseSettlingTime : self.settlingTime)
    }

    private static func remember(_ digests: Digests, _ key: String) {
        self.memory.withLock { kept in
            if kept.byteCount >= self.memoryByteCount { kept = ([:], 0) }
            kept.digests[key] = digests
            kept.byteCount += digests.blocks.byteCount + Self.entryByteCount
        }
    }

    private static func key(_ path: String, _ status: FileStatus) -> String {
        let numbers: [Any] = [
            status.identity.device, status.identity.inode, status.byteCount, status.modificationTime,
            status.statusChangeTime,
        ]
        return Array("\(numbers) \(path)".utf8).sha256.hexadecimal
    }
}
#endif
