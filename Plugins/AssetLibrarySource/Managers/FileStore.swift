import BlobCore
import Foundation

/// The queries of readers in a catalogue that is not ours: originals are described by their files.
struct FileStore: AssetStore {
    /// The pictures that were rendered, of all catalogues.
    private static let renditions = RenditionCache()
    /// The time between two looks while an observer waits for changes.
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
        // Of a file that was touched, whatever is not the digest makes the reader look at it.
        let sha256 = (try? FileSnapshot(path: found.path)).flatMap { FileDigests.known(found.path, $0)?.sha256 } ?? []
        return AssetRecord(
            sha256: sha256, storedPath: found.path, generation: found.adjustmentNumber, version)
    }

    func file(of asset: Asset) throws(BlobError) -> OriginalFile {
        let file = try OriginalFile(asset.storedPath)
        guard file.snapshot.byteCount == asset.byteCount else {
            file.close()
            throw BlobError(.changed, "The original was written to or replaced while it was opened.")
        }
        return file
    }

    func blocks(
        of asset: Asset, computing: () throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests)
    ) throws(BlobError) -> BlockDigests {
        if let known = (try? FileSnapshot(path: asset.storedPath)).flatMap({ FileDigests.known(asset.storedPath, $0) }),
            known.sha256 == asset.sha256
        {
            return known.blocks
        }
        let (sha256, blocks) = try computing()
        guard sha256 == asset.sha256 else {
            throw BlobError(.changed, "The original was written to or replaced while it was opened.")
        }
        return blocks
    }

    func lastCommit() throws(BlobError) -> CatalogueCommit { CatalogueCommit(number: try self.catalogue.revision()) }

    func observeCommits(_ body: @escaping @Sendable () -> Void) -> [any AnyObject & Sendable] {
        [RepeatedLook(every: Self.interval, body)]
    }

    func adjustment(of asset: Asset) throws(BlobError) -> Adjustment {
        guard let id = asset.catalogueID, let found = try self.catalogue.cataloguedAsset(id) else { return .none }
        let file = try OriginalFile(found.path)
        defer { file.close() }
        return try self.adjustment(of: found, file, DecodedPicture(asset.media))
    }

    func adjustment(ofCatalogued asset: CataloguedAsset) throws(BlobError) -> (Adjustment, DecodedPicture) {
        let file = try OriginalFile(asset.path)
        defer { file.close() }
        let picture = DecodedPicture(asset.media.replaced(by: MediaDescription(file.headerBytes)))
        return (try self.adjustment(of: asset, file, picture), picture)
    }

    private func adjustment(
        of found: CataloguedAsset, _ file: OriginalFile, _ picture: DecodedPicture
    ) throws(BlobError) -> Adjustment {
        if let adjustment = found.adjustment {
            return (try? AdjustmentDescriptions.checked(adjustment, picture))
                ?? .notRenderable(["of a picture of another size"])
        }
        var descriptions = AdjustmentDescriptions()
        for path in found.sidecarPaths {
            guard let kind = Sidecar.kind(path) else { continue }
            descriptions.sidecars[kind] = try Sidecar.content(Array(path.utf8))
        }
        descriptions.embedded = EmbeddedXMP.find(in: file.headerBytes)
        return descriptions.adjustment(of: picture)
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
    /// Returns what a file tells in place of what a catalogue does, which may know the date of one that has none.
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
        let seconds = file.snapshot.modification
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
    /// Creates a UUID of the first 16 bytes, with the version for bytes of one's own (RFC 9562, version 8).
    fileprivate init(bytes: [UInt8]) {
        var bytes = Array(bytes.prefix(16))
        (bytes[6], bytes[8]) = (bytes[6] & 0x0F | 0x80, bytes[8] & 0x3F | 0x80)
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// A look from time to time, on a thread of the pool, until this object is released.
private final class RepeatedLook: Sendable {
    private let interval: Duration
    private let look: @Sendable () -> Void
    private let context = BlobContext()
    private let timer = Locked<BlobRegistration?>(nil)

    init(every interval: Duration, _ look: @escaping @Sendable () -> Void) {
        (self.interval, self.look) = (interval, look)
        self.wait()
    }

    private func wait() {
        let next: @Sendable () -> Void = { [weak self] in
            self?.look()
            self?.wait()
        }
        let timer = self.context.wake(after: self.interval, BlobWaker { BlockingPool.brief.run(next) })
        self.timer.withLock { $0 = timer }
    }
}
