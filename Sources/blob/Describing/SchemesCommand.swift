#if Command
import ArgumentParser
import BlobStreamsStandard

struct SchemesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schemes", abstract: "Lists the schemes of locators: scheme, kind, module.")

    func run() throws {
        let rows = BlobRegistry.forCommand(library: nil).providers.flatMap { provider in
            provider.schemes.map { (scheme: $0, kind: provider.kind.name, module: provider.module) }
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
