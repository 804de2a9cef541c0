#if Command
import BlobPlatform
import BlobStreamsStandard

#if Photos
import AssetLibrarySource
#endif

extension BlobRegistry {
    /// Returns a registry with all built-in providers and the assets of one library.
    ///
    /// - Parameters:
    ///   - library: The path of the library; nil to use the environment variable.
    ///   - unrenderable: The treatment of a picture that cannot be rendered, unless its URL specifies one.
    ///   - formats: The archive formats to read in this process if the helper is missing.
    static func forCommand(
        library: String?, unrenderable: UnrenderableChoice = .fail, allowing formats: Set<ArchiveFormat> = []
    ) -> BlobRegistry {
        var providers = Array(BlobProvider.archives(allowing: formats).suffix(formats.count))
        #if Photos
        let assets = BlobProvider.assetLibrary(unrenderable: unrenderable.policy) {
            () throws(BlobError) in try LibraryLocation.folder(library)
        }
        providers.append(assets)
        #endif
        let registry = BlobRegistry.standard.replacing(providers)
        return registry.replacing([.zipped(registry)])
    }

    /// Returns a registry in which these providers replace the existing ones for their schemes.
    func replacing(_ providers: some Sequence<BlobProvider>) -> BlobRegistry {
        var registry = self
        do {
            for provider in providers { try registry.register(provider, replacing: true) }
        } catch {
            preconditionFailure("Could not replace a provider: \(error)")
        }
        return registry
    }

    /// Returns a registry that adds layers to the sources of all origins.
    func layeringOrigins(_ choose: @escaping @Sendable (inout BlobLayers, BlobLocator) -> Void) -> BlobRegistry {
        self.replacing(
            self.providers.compactMap { provider in
                guard case .origin(let makeSource) = provider.kind else { return nil }
                return BlobProvider(
                    .origin { locator, context in try makeSource(locator, context).layered { choose(&$0, locator) } },
                    schemes: provider.schemes, reachesNetwork: provider.reachesNetwork)
            })
    }
}

#if Photos
extension UnrenderableChoice {
    var policy: AssetSource.UnrenderablePolicy {
        switch self {
        case .fail: .fail
        case .original: .original
        case .render: .storedRender
        }
    }
}
#endif

/// The location of the asset library.
enum LibraryLocation {
    static let variable = "BLOB_LIBRARY"

    /// Returns the folder of the library.
    ///
    /// - Parameter path: The value of the option; nil to use the environment variable.
    /// - Throws: ``BlobError/Code/invalidArgument`` if neither specifies a folder.
    static func folder(_ path: String?) throws(BlobError) -> URL {
        let path = path ?? ProcessInfo.processInfo.environment[self.variable] ?? ""
        guard !path.isEmpty else {
            throw BlobError(
                .invalidArgument, "No asset library specified: use --library PATH, or set \(self.variable).")
        }
        return URL(fileURLWithPath: path, isDirectory: true)
    }
}

extension BlobRegistry {
    /// Returns the path if the argument is a folder; nil for any other argument.
    func folderPath(_ argument: String) -> [UInt8]? {
        guard let locator = try? self.locator(for: argument), let path = locator.filePath,
            locator.selectors.isEmpty, locator.scheme == "file", !path.contains(0),
            FileStatus(at: path.cString)?.isFolder == true
        else { return nil }
        return path
    }
}
#endif
