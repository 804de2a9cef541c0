#if Photos
public import BlobCore
public import Foundation

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

extension CataloguedAsset {
    /// The path of the folder of the file.
    private var folder: String {
        self.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self.path[..<$0]) } ?? ""
    }

    /// Returns true when a file is beside this one.
    private func isBeside(_ name: String) -> Bool {
        FileStatus(at: "\(self.folder)/\(name)")?.isRegular == true
    }

    /// The name of the other half of a live photo, when it is beside the file.
    var pairName: String? { self.name.flatMap { LivePhotoNames.pair(of: $0, where: self.isBeside) } }

    /// Sets what the file itself and its neighbours tell.
    mutating func look() {
        guard let status = FileStatus(at: self.path) else {
            self.isMissing = true
            return
        }
        self.isMissing = false
        self.sha256 = FileDigests.known(self.path, status)?.sha256
        self.modificationDate = Date(nanoseconds: status.modificationTime)
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
#endif
