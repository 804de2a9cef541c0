#if Command
import ArgumentParser
import BlobStreamsStandard

struct SchemesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schemes", abstract: "Lists the schemes of locators: scheme, kind, module.")

    /// The modules of the built-in schemes that do not come from ArchiveSource.
    private static let modules = [
        "assets-library": "AssetLibrarySource", "data": "BlobCore", "deflate": "GzipSource", "file": "FileSource",
        "gzip": "GzipSource", "http": "HTTPSource", "https": "HTTPSource", "ph": "AssetLibrarySource", "s3": "S3Source",
        "stdin": "FileSource", "zlib": "GzipSource",
    ]

    func run() throws {
        let rows = BlobRegistry.forCommand(library: nil).providers.flatMap { provider in
            provider.schemes.map { (scheme: $0, kind: provider.kind.name, module: Self.modules[$0] ?? "ArchiveSource") }
        }
        let width = rows.map(\.scheme.count).max() ?? 0
        for row in rows.sorted(by: { $0.scheme < $1.scheme }) {
            let padding = String(repeating: " ", count: width - row.scheme.count)
            try printLine("\(row.scheme)\(padding)  \(row.kind)  \(row.module)")
        }
    }
}

extension BlobProvider.Kind {
    fileprivate var name: String {
        switch self {
        case .origin: "origin"
        case .filter: "filter"
        case .container: "container"
        }
    }
}
#endif
