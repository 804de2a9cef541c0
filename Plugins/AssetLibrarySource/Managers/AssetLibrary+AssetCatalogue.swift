#if Photos
public import BlobCore
public import Foundation

extension AssetLibrary: AssetCatalogue {
    /// Opens the catalogue at a path for reading, and determines its kind from its content.
    ///
    /// - Parameter url: The folder of an asset library; the database `digikam4.db` of digiKam or `photo.db` of
    ///   Shotwell; a folder that contains one of these databases, or Shotwell's in its folder `data`; or any other
    ///   folder of photos, such as from a camera or Google Takeout.
    /// - Throws: ``BlobError/Code/notFound`` if the path does not exist, ``BlobError/Code/unsupported`` for a file of
    ///   another kind; otherwise the errors thrown by ``init(at:for:)``.
    public static func catalogue(at url: URL) throws(BlobError) -> any AssetCatalogue {
        let path = url.standardizedFileURL.path
        let isLibrary = [LibraryFolder.catalogue, LibraryFolder.journal].contains {
            Foundation.access("\(path)/\($0)", F_OK) == 0
        }
        guard !isLibrary, let status = FileStatus(at: path) else { return try AssetLibrary(at: url) }
        if status.isFolder {
            let databases = self.databases.map { "\(path)/\($0)" }
            if let found = databases.first(where: { Foundation.access($0, F_OK) == 0 }) {
                return try self.catalogue(ofDatabase: found)
            }
            return FolderCatalogue(at: path)
        }
        return try self.catalogue(ofDatabase: path)
    }

    /// The paths of databases, relative to the given folder.
    private static let databases = [
        DigiKamCatalogue.fileName, ShotwellCatalogue.fileName, "data/\(ShotwellCatalogue.fileName)",
    ]

    /// Opens the database of another program, identified by its tables, regardless of its name.
    private static func catalogue(ofDatabase path: String) throws(BlobError) -> any AssetCatalogue {
        let tables = try ManagerDatabase(at: path, tables: []).tables()
        if tables.isSuperset(of: DigiKamCatalogue.tables) { return try DigiKamCatalogue(at: path) }
        if tables.isSuperset(of: ShotwellCatalogue.tables) { return try ShotwellCatalogue(at: path) }
        throw BlobError(
            .unsupported, "'\(path)' is not a photo catalogue in a known format (digiKam or Shotwell).",
            operation: "open")
    }

    /// Returns the asset with an identifier, which is a UUID as text; nil if not found.
    ///
    /// - Throws: Errors from the catalogue.
    public func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset? {
        guard let uuid = UUID(uuidString: id), let asset = try self.asset(uuid) else { return nil }
        var found = try self.cataloguedAsset(for: asset)
        if let pair = asset.media.livePhotoID {
            found.pairID = try self.catalogue.liveAssets(pair).first { $0 != asset.id }?.uuidString
        }
        return found
    }

    /// Calls `body` with every asset in order of import, or with the assets of an album in the order of the album.
    public func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws {
        guard let collection else { return try self.forEachAsset { try body(self.cataloguedAsset(for: $0)) } }
        for asset in try self.assets(inAlbum: collection) { try body(self.cataloguedAsset(for: asset)) }
    }

    /// Returns all albums; see ``albums()``.
    public func collections() throws(BlobError) -> [AssetCollection] {
        try self.albums().map { album in
            AssetCollection(
                id: album.name, name: album.name, kind: album.isShared ? .sharedStream : .album,
                itemCount: album.itemCount)
        }
    }

    /// Returns the number of the last change; nil if the catalogue cannot report it.
    public func revision() throws(BlobError) -> Int64? { try self.lastCommit().number }

    /// Returns an asset in the form that all catalogues share.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the catalogue refers to a file outside the library.
    package func cataloguedAsset(for asset: Asset) throws(BlobError) -> CataloguedAsset {
        let path = try self.folder.path(ofStored: asset.storedPath)
        var found = CataloguedAsset(id: asset.id.uuidString, path: path, byteCount: asset.byteCount)
        (found.name, found.sha256, found.media) = (asset.name, asset.sha256, asset.media)
        (found.modificationDate, found.isMissing) = (asset.modificationDate, asset.isMissing)
        return found
    }
}

extension CataloguedAsset {
    /// The path of the folder that contains the file.
    private var folder: String {
        self.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self.path[..<$0]) } ?? ""
    }

    /// Returns true if the file's folder contains a file with this name.
    private func isBeside(_ name: String) -> Bool {
        FileStatus(at: "\(self.folder)/\(name)")?.isRegular == true
    }

    /// The name of the other half of a Live Photo; nil unless it is in the same folder.
    var pairName: String? { self.name.flatMap { LivePhotoNames.pair(of: $0, where: self.isBeside) } }

    /// Sets the facts from the file itself and from other files in its folder.
    mutating func setFileFacts() {
        guard let status = FileStatus(at: self.path) else {
            self.isMissing = true
            return
        }
        self.isMissing = false
        self.sha256 = FileDigests.cachedDigests(self.path, status)?.sha256
        self.modificationDate = Date(nanoseconds: status.modificationTime)
        guard let name, self.adjustment == nil else { return }
        self.sidecarPaths = Sidecar.names(beside: name, where: self.isBeside).map { "\(self.folder)/\($0)" }
    }
}

extension String {
    /// The path, with repeated slashes replaced by one.
    var singleSlashes: String {
        guard self.contains("//") else { return self }
        return "/" + self.split(separator: "/").joined(separator: "/")
    }
}

extension AssetCatalogue {
    /// Returns a source of the bytes of an asset.
    ///
    /// A file of another program's catalogue, or of a folder, is read once for its digests, which are cached in the
    /// user's cache folder until the file is touched. After that, an ``AssetSource`` treats it like an original of an
    /// ``AssetLibrary``.
    ///
    /// - Parameters:
    ///   - id: The identifier of the asset, which need not exist yet.
    ///   - version: The version of an adjusted picture.
    ///   - unrenderable: The treatment of a picture whose adjustment cannot be rendered.
    ///   - removal: The effect on open readers when the asset is removed.
    public func source(
        for id: String, version: AssetSource.Version = .current, unrenderable: AssetSource.UnrenderablePolicy = .fail,
        removal: AssetSource.RemovalPolicy = .finish
    ) -> AssetSource {
        let options = AssetSource.Options(version: version, unrenderable: unrenderable, removal: removal)
        return AssetSource(id, fileExtension: nil, options) { self.backend }
    }

    /// The backend that readers use to query this catalogue.
    var backend: any AssetBackend { (self as? AssetLibrary) ?? FileCatalogueBackend(self) }
}
#endif
