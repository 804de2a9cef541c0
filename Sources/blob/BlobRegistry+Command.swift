import BlobStreamsStandard
import Foundation

extension BlobRegistry {
    /// Everything that is built in, with the assets of one library.
    ///
    /// - Parameters:
    ///   - library: The path of the library; nil takes the one that the environment names.
    ///   - formats: Formats of archives that are read only when asked for.
    static func forCommand(library: String?, allowing formats: Set<ArchiveFormat> = []) -> BlobRegistry {
        var registry = self.forCommand.withLock { registries in
            let registry = registries[library] ?? self.makeForCommand(library: library)
            registries[library] = registry
            return registry
        }
        for provider in BlobProvider.archives(allowing: formats).dropFirst(BlobProvider.archives.count) {
            do {
                try registry.register(provider)
            } catch {
                preconditionFailure("Formats that are allowed have schemes of their own: \(error)")
            }
        }
        return registry
    }

    /// By library: it stays open for the next locator.
    private static let forCommand = Locked<[String?: BlobRegistry]>([:])

    private static func makeForCommand(library: String?) -> BlobRegistry {
        var registry = BlobRegistry.standard
        #if BLOBSTREAMS_ASSET_LIBRARY
            do {
                try registry.register(
                    .assetLibrary { () throws(BlobError) in try LibraryLocation.folder(library) }, replacing: true)
            } catch {
                preconditionFailure("The scheme of assets can be registered: \(error)")
            }
        #endif
        return registry
    }
}

/// Which library commands use.
enum LibraryLocation {
    static let variable = "BLOB_LIBRARY"

    /// The folder of the library.
    ///
    /// - Parameter path: As an option says it; nil takes the variable of the environment.
    /// - Throws: ``BlobError/Code/invalidArgument`` when neither names one.
    static func folder(_ path: String?) throws(BlobError) -> URL {
        let path = path ?? ProcessInfo.processInfo.environment[self.variable] ?? ""
        guard !path.isEmpty else {
            throw BlobError(
                .invalidArgument, "No asset library is named: use --library PATH, or the variable \(self.variable).")
        }
        return URL(fileURLWithPath: path, isDirectory: true)
    }
}
