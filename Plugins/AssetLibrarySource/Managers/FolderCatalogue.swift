#if Photos
import BlobCore
import Foundation

/// A folder of photos and videos as a catalogue.
///
/// Any folder can be used, such as a camera's card (DCIM), the originals of PhotoPrism and Immich, a folder that
/// darktable uses, or an archive of Google Takeout. The folder is never modified.
///
/// The identifier of an asset is its path within the folder. All regular files except sidecars are assets; hidden files
/// and folders, links, and names that are not UTF-8 are omitted.
struct FolderCatalogue: AssetCatalogue {
    /// The maximum depth of nested folders that are searched.
    private static let maximumDepth = 128

    let path: String

    init(at path: String) { self.path = path }

    func cataloguedAsset(_ id: String) throws(BlobError) -> CataloguedAsset? {
        guard var parts = Self.components(id), let name = parts.popLast(), !Self.isSidecar(name) else { return nil }
        do throws(BlobError) {
            let folder = try self.folder(parts)
            guard let status = folder.status(of: name), status.isRegular else { return nil }
            var found = self.asset(name, status, in: folder, prefix: parts, exists: folder.hasFile(named:))
            found.sha256 = FileDigests.cachedDigests(found.path, status)?.sha256
            return found
        } catch  where error.code == .notFound || error.code == .unsupported {
            return nil
        }
    }

    func forEachCataloguedAsset(in collection: String?, _ body: (CataloguedAsset) throws -> Void) throws {
        guard let collection else { return try self.visit { _, assets in try assets.forEach(body) } }
        try self.assets(in: collection).forEach(body)
    }

    private func assets(in collection: String) throws(BlobError) -> [CataloguedAsset] {
        if let parts = Self.components(collection) {
            do throws(BlobError) {
                let folder = try self.folder(parts)
                return self.assets(of: folder, try folder.names(), prefix: parts)
            } catch {
                guard error.code == .notFound || error.code == .unsupported else { throw error }
            }
        }
        throw BlobError(.notFound, "There is no folder of photos '\(collection)' in '\(self.path)'.")
    }

    /// Returns the folders that contain assets, by path; assets directly in the catalogue's folder do not belong to a
    /// collection.
    func collections() throws(BlobError) -> [AssetCollection] {
        var found: [AssetCollection] = []
        try BlobError.wrapping {
            try self.visit { parts, assets in
                guard !parts.isEmpty, !assets.isEmpty else { return }
                found.append(
                    AssetCollection(
                        id: Self.id(parts), name: parts.joined(separator: "/"), kind: .folder,
                        itemCount: assets.count))
            }
        }
        return found
    }

    /// Calls `body` with each folder and its assets, in byte order of the names.
    ///
    /// - Throws: The first error of a folder that cannot be read, after all other folders were visited; errors thrown
    ///   by `body`.
    private func visit(_ body: ([String], [CataloguedAsset]) throws -> Void) throws {
        var waiting: [[String]] = [[]]
        var failure: BlobError?
        while let parts = waiting.popLast() {
            let folder: Folder
            let names: [String]
            do throws(BlobError) {
                folder = try self.folder(parts)
                names = try folder.names()
            } catch {
                // A folder that was removed in the meantime is not an error.
                if parts.isEmpty || error.code != .notFound { failure = failure ?? error }
                continue
            }
            try body(parts, self.assets(of: folder, names, prefix: parts))
            let folders = names.filter { !Self.isHidden($0) && folder.status(of: $0)?.isFolder == true }
            guard parts.count < Self.maximumDepth || folders.isEmpty else {
                failure = BlobError(.limitExceeded, "Folders are nested more than \(Self.maximumDepth) levels deep.")
                continue
            }
            waiting += folders.sorted { $1.utf8.lexicographicallyPrecedes($0.utf8) }.map { parts + [$0] }
        }
        if let failure { throw failure }
    }

    private func folder(_ parts: [String]) throws(BlobError) -> Folder {
        var folder = try Folder(self.path)
        for part in parts { folder = try folder.folder(named: part) }
        return folder
    }

    /// Returns the assets directly in a folder, in byte order of their names.
    private func assets(of folder: Folder, _ names: [String], prefix: [String]) -> [CataloguedAsset] {
        let all = Set(names)
        let own = names.filter { !Self.isHidden($0) && !Self.isSidecar($0) }
        return own.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { name in
            guard let status = folder.status(of: name), status.isRegular else { return nil }
            return self.asset(name, status, in: folder, prefix: prefix) {
                all.contains($0) && folder.hasFile(named: $0)
            }
        }
    }

    private func asset(
        _ name: String, _ status: FileStatus, in folder: Folder, prefix: [String], exists: (String) -> Bool
    ) -> CataloguedAsset {
        let base = ([self.path] + prefix).joined(separator: "/")
        var asset = CataloguedAsset(
            id: Self.id(prefix + [name]), path: "\(base)/\(name)", byteCount: status.byteCount)
        asset.modificationDate = Date(nanoseconds: status.modificationTime)
        asset.media = MediaDescription(fileName: name)
        asset.pairID = LivePhotoNames.pair(of: name, where: exists).map { Self.id(prefix + [$0]) }
        var sidecars = Sidecar.names(beside: name, where: exists)
        if let document = TakeoutDocument.match(for: name, where: exists) { sidecars.append(document.name) }
        asset.sidecarPaths = sidecars.map { "\(base)/\($0)" }
        return asset
    }

    // MARK: Names

    private static func isHidden(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: ".") }

    private static func isSidecar(_ name: String) -> Bool {
        guard let suffix = LibraryFolder.fileExtension(ofName: name)?.lowercased() else { return false }
        return ["aae", "json", "xmp"].contains(suffix)
    }

    private static let plainCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/".utf8)

    private static func id(_ parts: [String]) -> String {
        PercentEncoding.encode(parts.joined(separator: "/").utf8, leaving: self.plainCharacters)
    }

    /// Returns the components of the path that an identifier represents; nil if the identifier is malformed, or if the
    /// path leads to an omitted file or out of the folder.
    private static func components(_ id: String) -> [String]? {
        guard let bytes = PercentEncoding.decode(id.utf8), let path = String(validating: bytes, as: UTF8.self),
            !bytes.contains(0)
        else { return nil }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= self.maximumDepth + 1, parts.allSatisfy({ !$0.isEmpty && !self.isHidden($0) }) else {
            return nil
        }
        return parts
    }
}

/// The names of the two halves of a Live Photo, which have the same stem in Apple's systems and in Google Takeout.
enum LivePhotoNames {
    private static let pictureExtensions = ["HEIC", "heic", "JPG", "jpg", "JPEG", "jpeg"]
    private static let filmExtensions = ["MOV", "mov", "MP4", "mp4"]

    static func isFilm(_ name: String) -> Bool {
        LibraryFolder.fileExtension(ofName: name).map(self.filmExtensions.contains) ?? false
    }

    /// Returns an extension, and those that an edited copy may have instead.
    static func variants(ofExtension ext: String) -> [String] {
        [ext, ext.lowercased(), ext.uppercased()] + self.pictureExtensions
    }

    /// Returns the name of the other half; nil if not found. Only names are compared, so unrelated files may match.
    static func pair(of name: String, where exists: (String) -> Bool) -> String? {
        guard let suffix = LibraryFolder.fileExtension(ofName: name) else { return nil }
        let others =
            self.pictureExtensions.contains(suffix)
            ? self.filmExtensions : self.filmExtensions.contains(suffix) ? self.pictureExtensions : []
        let stem = name.dropLast(suffix.count)
        return others.lazy.map { stem + $0 }.first(where: exists)
    }
}
#endif
