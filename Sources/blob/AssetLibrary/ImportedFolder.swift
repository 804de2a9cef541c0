import AssetLibrarySource
import BlobStreamsStandard
import Foundation

/// The assets below a folder of photos: of a camera's card (DCIM), of Google Takeout, or any other.
struct ImportedFolder {
    /// The absolute paths of the assets, in the order of their bytes.
    private(set) var paths: [[UInt8]] = []
    /// The errors of what is no file, and of folders that cannot be read.
    let errors: [BlobError]
    /// The names of the JSON files, by the path of their folder.
    private var documents: [[UInt8]: Set<String>] = [:]
    /// The paths of files with adjustments and metadata, without the extension.
    private var withSidecars: Set<[UInt8]> = []

    private static let sidecarExtensions: Set<String> = ["xmp", "aae"]

    /// - Parameter path: The absolute path of the folder.
    init(_ path: [UInt8]) {
        let files = FolderFiles(in: path)
        self.errors = files.errors
        for relative in files.paths {
            let whole = path + [UInt8(ascii: "/")] + relative
            let name = String(decoding: whole.lastComponent, as: UTF8.self)
            let parts = relative.split(separator: UInt8(ascii: "/"))
            let isHidden = parts.contains { $0.first == UInt8(ascii: ".") }
            if isHidden, !name.hasSuffix(".icloud") { continue }
            switch (name as NSString).pathExtension.lowercased() {
            case "json": self.documents[whole.folder, default: []].insert(name)
            case let suffix where Self.sidecarExtensions.contains(suffix):
                self.withSidecars.insert(whole.dropLast(suffix.utf8.count + 1).lowercasedASCII)
            default: self.paths.append(whole)
            }
        }
    }

    /// Looks at a file, with what its sidecars say.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` for a placeholder of a file that is elsewhere.
    func origin(_ path: [UInt8], isReference: Bool) throws(BlobError) -> (ImportOrigin, name: String?) {
        var origin = try ImportOrigin(path: path)
        let name = String(decoding: path.lastComponent, as: UTF8.self)
        guard origin.byteCount > 0, !name.hasSuffix(".icloud") else {
            throw BlobError(
                .unavailable, "The file has no bytes here: if it is in a cloud, it has to be downloaded first.",
                operation: "open", locator: BlobLocator(filePath: path).description)
        }
        origin.isReference = isReference
        let stem = path.dropLast((name as NSString).pathExtension.utf8.count + 1).lowercasedASCII
        origin.hasSidecars = self.withSidecars.contains(stem) || self.withSidecars.contains(path.lowercasedASCII)
        let document = TakeoutDocument.name(for: name, among: self.documents[path.folder] ?? [])
        let documentPath = document.map { path.folder + Array("/\($0)".utf8) }
        guard let documentPath, let facts = TakeoutDocument(path: documentPath) else { return (origin, nil) }
        (origin.documentPath, origin.title) = (documentPath, facts.title)
        (origin.captureDate, origin.captureOffset) = (facts.captureDate, "+00:00")
        if facts.captureDate == nil { origin.captureOffset = nil }
        origin.place = facts.place
        return (origin, facts.title)
    }
}

extension TakeoutDocument {
    /// Reads a document; nil when it is none.
    fileprivate init?(path: [UInt8]) {
        self.init((try? FileSource(path: String(decoding: path, as: UTF8.self)).data(upTo: Self.byteLimit)) ?? Data())
    }
}

extension [UInt8] {
    fileprivate var lastComponent: ArraySlice<UInt8> { self.split(separator: UInt8(ascii: "/")).last ?? [] }

    /// The path without the last component and its slash.
    fileprivate var folder: [UInt8] { self.dropLast(self.lastComponent.count + 1) }
}

extension Sequence<UInt8> {
    fileprivate var lowercasedASCII: [UInt8] {
        self.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 32 : $0 }
    }
}
