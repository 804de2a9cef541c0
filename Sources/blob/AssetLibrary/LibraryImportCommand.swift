#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobPlatform
import BlobStreamsStandard
import Foundation

struct LibraryImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Adds files to the library, and prints their URLs.",
        discussion: """
            Content that the library already has is not added again.

            Content that the library already has is not added again: the URL of its asset is printed, after the \
            original has been read and, if damaged or lost, replaced. After its URL is printed, an asset survives a \
            loss of power. Any locator can be imported, not only files. From a folder, all files below it are imported \
            except hidden ones, .xmp and .aae; .json files supply the date, place and name of photos from Google \
            Takeout. Unchanged files of a folder are skipped on later imports; new or changed sidecars are applied.

            EXAMPLES:
              blob library import --library ~/photos DCIM/
              blob library import holiday.zip#beach.jpg
            """)

    @Argument(help: "The files, folders or locators to import.")
    var files: [String]

    @Flag(
        help: ArgumentHelp(
            "Add existing content again, as a separate asset.",
            discussion: "The assets share the original."))
    var duplicates = false

    @Flag(
        help: ArgumentHelp(
            "Refer to files instead of copying them.",
            discussion: "Reading verifies that they are unchanged."))
    var byReference = false

    @Option(help: .advanced("Show progress: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        let library = try self.source.place.openLibrary(for: .writing)
        let sources = self.source.makeSources()
        let line = ProgressLine(self.progress)
        let failures = SourceFailures(isFailFast: false)
        // Printed only once the asset is certain to persist.
        let assets = try library.makeImport(
            duplicates: self.duplicates ? .addAsset : .reuseAsset, context: context
        ) { result in
            line.clear()
            try printLine(result.asset.locator.text)
            if result.isRepaired {
                ProgressLine.printNotice(
                    "blob: repaired a damaged or lost original: \(result.asset.locator.text)\n")
            }
        }
        let done = Locked((items: 0, files: 0, bytes: Int64(0)))
        let show = { @Sendable (count: Int) in
            let now = done.withLock { done in
                done.bytes += Int64(count)
                return done
            }
            line.show(now.bytes, of: nil, note: "\(now.items) of \(now.files) files, ")
        }
        let attempt = { (body: () throws -> Void) throws in
            do {
                try context.check()
                try body()
                done.withLock { $0.items += 1 }
            } catch {
                line.clear()
                do throws(BlobError) {
                    // Continues with the other files unless the job is cancelled, the disk is full, or the output is
                    // closed.
                    try failures.record(error, mayContinueAtLimit: true)
                } catch {
                    try? assets.finish()
                    throw error
                }
            }
        }
        for argument in try sources.registry.expanding(self.files, context) {
            guard let path = try self.absolutePath(argument, sources.registry) else {
                try attempt {
                    done.withLock { $0.files += 1 }
                    try assets.add(sources.source(argument, context).counting { count, _, _ in show(count) })
                }
                continue
            }
            let folder = FileStatus(at: path.cString)?.isFolder == true ? ImportedFolder(path) : nil
            for error in folder?.errors ?? [] { try attempt { throw error } }
            // The library itself may be in the folder.
            let paths = folder.map { $0.paths.filter { !library.contains(path: $0) } } ?? [path]
            done.withLock { $0.files += paths.count }
            for path in paths {
                try attempt {
                    let known = try folder?.origin(path, isReference: self.byReference)
                    let origin = try known?.0 ?? ImportOrigin(path: path, isReference: self.byReference)
                    if try self.duplicates || folder == nil || !assets.addImported(origin) {
                        let source = try sources.registry.source(for: BlobLocator(filePath: path), context: context)
                        try assets.add(
                            source.counting { count, _, _ in show(count) }, name: known?.name, from: origin)
                    }
                }
                show(0)
            }
        }
        try assets.finish()
        line.clear()
        try failures.end()
    }

    /// Returns the path of a folder, or of a file for the catalogue to reference; nil for any other argument.
    private func absolutePath(_ argument: String, _ registry: BlobRegistry) throws -> [UInt8]? {
        if let locator = try? registry.locator(for: argument), locator.scheme == "file",
            locator.selectors.isEmpty, let path = locator.filePath, !path.contains(0),
            self.byReference || FileStatus(at: path.cString)?.isFolder == true
        {
            return path.count > 1 && path.last == UInt8(ascii: "/") ? Array(path.dropLast()) : path
        }
        guard self.byReference else { return nil }
        throw BlobError(.invalidArgument, "Only files can be imported by reference, not \(printable(argument)).")
    }
}

/// The assets in a folder of photos: a camera card (DCIM), a Google Takeout archive, or any other folder.
struct ImportedFolder {
    /// The absolute paths of the assets, in byte order.
    private(set) var paths: [[UInt8]] = []
    /// The errors for entries that are not files, and for folders that cannot be read.
    let errors: [BlobError]
    /// The names of the JSON files and of the assets, keyed by the path of their folder.
    private var documents: [[UInt8]: Set<String>] = [:]
    private var names: [[UInt8]: Set<String>] = [:]
    /// The paths, without extensions, of files that have adjustments or metadata.
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
            default:
                self.paths.append(whole)
                self.names[whole.folder, default: []].insert(name)
            }
        }
    }

    /// Examines a file and its sidecars.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` for a placeholder whose content is stored elsewhere.
    func origin(_ path: [UInt8], isReference: Bool) throws(BlobError) -> (ImportOrigin, name: String?) {
        var origin = try ImportOrigin(path: path)
        let name = String(decoding: path.lastComponent, as: UTF8.self)
        guard origin.byteCount > 0, !name.hasSuffix(".icloud") else {
            throw BlobError(
                .unavailable, "The file has no local content: if it is stored in the cloud, download it first.",
                operation: "open", locator: BlobLocator(filePath: path).description)
        }
        origin.isReference = isReference
        let stem = path.dropLast((name as NSString).pathExtension.utf8.count + 1).lowercasedASCII
        origin.hasSidecars = self.withSidecars.contains(stem) || self.withSidecars.contains(path.lowercasedASCII)
        let document = TakeoutDocument.match(
            for: name, documents: self.documents[path.folder] ?? [], photos: self.names[path.folder] ?? [])
        let documentPath = document.map { path.folder + Array("/\($0.name)".utf8) }
        guard let documentPath, let facts = TakeoutDocument(path: documentPath) else { return (origin, nil) }
        // An edited copy and a film have names of their own.
        let title = document?.isOwn == true ? facts.title : nil
        (origin.documentPath, origin.title) = (documentPath, title)
        (origin.captureDate, origin.captureOffset) = (facts.captureDate, "+00:00")
        if facts.captureDate == nil { origin.captureOffset = nil }
        origin.location = facts.location
        return (origin, title)
    }
}

extension TakeoutDocument {
    /// Reads a document from a file; fails if the file is not such a document.
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
#endif
