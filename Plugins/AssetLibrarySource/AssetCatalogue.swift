public import BlobCore
public import Foundation

/// A catalogue of photos and films: our own ``AssetLibrary``, a folder, or the database of another program.
///
/// ``AssetLibrary/catalogue(at:)`` opens the catalogues that this module knows; other modules write this protocol for
/// theirs. Everything else comes with it: sources that verify what they read, follow changes and render adjustments.
///
/// ```swift
/// let photos = try AssetLibrary.catalogue(at: URL(fileURLWithPath: "Pictures"))
/// try photos.forEachCataloguedAsset(in: nil) { print($0.locator, $0.byteCount) }
/// let bytes = try await photos.source(for: "2024/IMG_0001.JPG").data(upTo: 1 << 30)
/// ```
///
/// The catalogues of others, and their files, are only read. Safe to use from any thread; calls block.
public protocol AssetCatalogue: Sendable {
    /// The path of the folder or of the database, for messages.
    var path: String { get }

    /// Returns the asset with an identifier; nil when there is none.
    ///
    /// - Throws: Errors of the catalogue.
    /// - Complexity: One look-up in an index, and a few of names in the folder of the file.
    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset?

    /// Calls `body` with every asset, or with those of a collection, in an order that stays the same while the
    /// catalogue does.
    ///
    /// Memory use does not grow with the number of assets in the catalogue, and no lock is held during the calls.
    /// Assets that come or go during the calls may be included or not.
    ///
    /// - Parameters:
    ///   - collection: The identifier of a collection; nil for all assets.
    ///   - body: Called with each asset.
    /// - Throws: ``BlobError/Code/notFound`` when there is no such collection; errors of the catalogue and of `body`,
    ///   which end the calls.
    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws

    /// Returns all collections; by default, there are none.
    ///
    /// - Throws: Errors of the catalogue.
    func collections() throws(BlobError) -> [AssetCollection]

    /// Returns a number that is another one after each change of the catalogue, by whichever program; nil, by default,
    /// when there is none.
    ///
    /// Readers look their asset up again when the number has changed; without one, before each block.
    ///
    /// - Throws: Errors of the catalogue.
    func revision() throws(BlobError) -> Int64?
}

extension AssetCatalogue {
    /// Returns no collections.
    public func collections() throws(BlobError) -> [AssetCollection] { [] }

    /// Returns nil.
    public func revision() throws(BlobError) -> Int64? { nil }
}

/// A collection of assets: an album, a tag, an event or a folder.
public struct AssetCollection: Hashable, Sendable, Identifiable {
    /// The kind of a collection.
    public enum Kind: String, Sendable {
        /// A list that somebody made; in digiKam, a folder.
        case album
        /// A list whose items are copies; see ``AssetLibrary/Album/isShared``.
        case sharedStream = "shared"
        /// The assets with a tag.
        case tag
        /// The assets of a time that a program or a person put together.
        case event
        /// The files of a folder.
        case folder
    }

    /// The identifier, which no other collection of the catalogue has.
    public let id: String
    /// The name, of which there may be several; names in it are separated by slashes.
    public let name: String
    /// The kind.
    public let kind: Kind
    /// The number of assets, from 0; nil when it would have to be counted one by one.
    public let itemCount: Int?

    /// Creates a collection.
    public init(id: String, name: String, kind: Kind, itemCount: Int?) {
        (self.id, self.name, self.kind, self.itemCount) = (id, name, kind, itemCount)
    }
}

/// An asset of an ``AssetCatalogue``, as the catalogue described it at the time of the query.
///
/// Listing does not access the files: what the catalogue does not know is nil.
public struct CataloguedAsset: Hashable, Sendable, Identifiable {
    /// The identifier, which stays the same for as long as the catalogue has the asset: letters, digits and
    /// `-._~/%`, with all other bytes as `%XX`.
    public let id: String
    /// The absolute path of the file.
    public let path: String
    /// The length of the file in bytes, from 0, as the catalogue has it.
    public let byteCount: Int64
    /// The name of the asset; nil when it has none.
    public var name: String?
    /// The SHA-256 of the file, 32 bytes; nil when it is unknown.
    public var sha256: [UInt8]?
    /// The description of the content.
    public var media = MediaDescription()
    /// The modification date of the file.
    public var modificationDate: Date?
    /// The identifier of the other half of a live photo, of the film or of the picture; nil also in a list of a
    /// catalogue that would have to search for it.
    public var pairID: String?
    /// The paths of the files beside this one that describe it: XMP, AAE and the JSON of Google Takeout.
    public var sidecarPaths: [String] = []
    /// True when the catalogue knows that the file is not in its place.
    public var isMissing = false
    /// The adjustment that the catalogue has; nil when sidecars and the file itself describe it.
    var adjustment: Adjustment?

    /// Creates the description of an asset.
    public init(id: String, path: String, byteCount: Int64) {
        (self.id, self.path, self.byteCount) = (id, path, byteCount)
        self.name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) }
    }

    /// The asset's URL: `assets-library://asset/asset.JPG?id=ID&ext=JPG`.
    public var locator: BlobLocator { BlobLocator(asset: self.id, fileExtension: self.fileExtension) }

    /// The extension of the name, if any URL can contain it.
    var fileExtension: String? { self.name.flatMap(Asset.fileExtension(ofName:)) }

    /// A number that is another one when the adjustment may be.
    var adjustmentNumber: Int64 {
        var hasher = Hasher()
        hasher.combine(self.adjustment)
        for path in self.sidecarPaths {
            hasher.combine(path)
            let status = try? FileSnapshot(path: path)
            hasher.combine(status?.byteCount)
            hasher.combine(status?.modification)
        }
        return Int64(hasher.finalize()) & .max
    }

    /// The path of the folder of the file.
    private var folder: String {
        self.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self.path[..<$0]) } ?? ""
    }

    /// Returns true when a file is beside this one.
    private func isBeside(_ name: String) -> Bool {
        (try? FileSnapshot(path: "\(self.folder)/\(name)"))?.isRegular == true
    }

    /// The name of the other half of a live photo, when it is beside the file.
    var pairName: String? { self.name.flatMap { LivePhotoNames.pair(of: $0, where: self.isBeside) } }

    /// Sets what the file itself and its neighbours tell.
    mutating func look() {
        guard let status = try? FileSnapshot(path: self.path) else {
            self.isMissing = true
            return
        }
        self.isMissing = false
        self.sha256 = FileDigests.known(self.path, status)?.sha256
        self.modificationDate = Date(nanoseconds: status.modification)
        guard let name, self.adjustment == nil else { return }
        self.sidecarPaths = Sidecar.names(beside: name, where: self.isBeside).map { "\(self.folder)/\($0)" }
    }
}

extension String {
    /// The path with one slash for several.
    var singleSlashes: String {
        guard self.contains("//") else { return self }
        return "/" + self.split(separator: "/").joined(separator: "/")
    }
}

extension AssetCatalogue {
    /// Returns a source of the bytes of an asset.
    ///
    /// A file of another program's catalogue, or of a folder, is read once for its digests, which are kept in the
    /// user's cache folder until it is touched; after that, an ``AssetSource`` treats it like an original of ours.
    ///
    /// - Parameters:
    ///   - id: The identifier of the asset, which need not exist yet.
    ///   - version: The version of an adjusted picture.
    ///   - unrenderable: The treatment of a picture whose adjustment cannot be rendered.
    ///   - removal: The effect on readers when the asset is removed while they are open.
    public func source(
        for id: String, version: AssetSource.Version = .current, unrenderable: AssetSource.UnrenderablePolicy = .fail,
        removal: AssetSource.RemovalPolicy = .finish
    ) -> AssetSource {
        let options = AssetSource.Options(version: version, unrenderable: unrenderable, removal: removal)
        return AssetSource(id, fileExtension: nil, options) { self.store }
    }

    /// The queries of readers.
    var store: any AssetStore { (self as? AssetLibrary) ?? FileStore(self) }
}

extension AssetLibrary: AssetCatalogue {
    /// Opens the catalogue at a path for reading, of the kind that its content shows.
    ///
    /// - Parameter url: The folder of an asset library; a folder of photos, as of a camera or of Google Takeout, with
    ///   the files as they are; `digikam4.db` of digiKam, `photo.db` of Shotwell, or the folder that has one of them,
    ///   also in its folder `data`.
    /// - Throws: ``BlobError/Code/notFound`` when there is nothing, ``BlobError/Code/unsupported`` for a file of
    ///   another kind; otherwise as ``init(at:for:)``.
    public static func catalogue(at url: URL) throws(BlobError) -> any AssetCatalogue {
        let path = url.standardizedFileURL.path
        let isLibrary = [Catalogue.fileName, LibraryJournal.fileName].contains {
            Foundation.access("\(path)/\($0)", F_OK) == 0
        }
        var status = stat()
        guard !isLibrary, stat(path, &status) == 0 else { return try AssetLibrary(at: url) }
        if status.st_mode & S_IFMT == S_IFDIR {
            let databases = self.databases.map { "\(path)/\($0)" }
            if let found = databases.first(where: { Foundation.access($0, F_OK) == 0 }) {
                return try self.catalogue(ofDatabase: found)
            }
            return FolderCatalogue(at: path)
        }
        return try self.catalogue(ofDatabase: path)
    }

    /// The paths of databases in the folder that is named.
    private static let databases = [
        DigiKamCatalogue.fileName, ShotwellCatalogue.fileName, "data/\(ShotwellCatalogue.fileName)",
    ]

    /// Opens the database of another program, which its tables show, whatever its name is.
    private static func catalogue(ofDatabase path: String) throws(BlobError) -> any AssetCatalogue {
        let tables = try ManagerDatabase(at: path, tables: []).tables()
        if tables.isSuperset(of: DigiKamCatalogue.tables) { return try DigiKamCatalogue(at: path) }
        if tables.isSuperset(of: ShotwellCatalogue.tables) { return try ShotwellCatalogue(at: path) }
        throw BlobError(
            .unsupported, "'\(path)' is no catalogue of photos that is known: neither digiKam's nor Shotwell's.",
            operation: "open")
    }

    /// Returns the asset with an identifier, the text of its UUID; nil when there is none.
    ///
    /// - Throws: Errors of the catalogue.
    public func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset? {
        guard let uuid = UUID(uuidString: id), let asset = try self.asset(uuid) else { return nil }
        var found = try self.catalogued(asset)
        if let pair = asset.media.livePhotoID {
            found.pairID = try self.catalogue.liveAssets(pair).first { $0 != asset.id }?.uuidString
        }
        return found
    }

    /// Calls `body` with every asset in the order of their import, or with those of an album in its order.
    public func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws {
        guard let collection else { return try self.forEachAsset { try body(self.catalogued($0)) } }
        for asset in try self.assets(inAlbum: collection) { try body(self.catalogued(asset)) }
    }

    /// Returns all albums; see ``albums()``.
    public func collections() throws(BlobError) -> [AssetCollection] {
        try self.albums().map { album in
            AssetCollection(
                id: album.name, name: album.name, kind: album.isShared ? .sharedStream : .album,
                itemCount: album.itemCount)
        }
    }

    /// Returns the number of the last change; nil when the catalogue cannot tell.
    public func revision() throws(BlobError) -> Int64? { try self.lastCommit().number }

    /// Returns an asset in the form of all catalogues.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the catalogue names a file outside of the library.
    package func catalogued(_ asset: Asset) throws(BlobError) -> CataloguedAsset {
        let path = try self.folder.path(ofStored: asset.storedPath)
        var found = CataloguedAsset(id: asset.id.uuidString, path: path, byteCount: asset.byteCount)
        (found.name, found.sha256, found.media) = (asset.name, asset.sha256, asset.media)
        (found.modificationDate, found.isMissing) = (asset.modificationDate, asset.isMissing)
        return found
    }
}
