#if Command
import ArgumentParser
import BlobStreamsStandard

struct SchemesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schemes", abstract: "Lists the schemes of locators.",
        discussion: """
            Prints scheme, kind (origin, filter or container) and module.

            EXAMPLES:
              blob schemes | grep ArchiveSource
              blob schemes --json | jq -r .scheme
            """)

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let rows = BlobRegistry.forCommand(library: nil).providers.flatMap { provider in
            provider.schemes.map { [$0, provider.kind.name, provider.module] }
        }.sorted { $0[0] < $1[0] }
        let widths = (0..<2).map { column in rows.map(\.[column].count).max() ?? 0 }
        for row in rows {
            guard !self.json else {
                let object: JSONObject = ["scheme": row[0], "kind": row[1], "module": row[2]]
                try printLine(jsonLine(object))
                continue
            }
            let columns = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            try printLine((columns + row[2...]).joined(separator: "  "))
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
