import ArgumentParser
import BlobCommandLine
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct IndexListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the indexes in the user's cache folder.",
        discussion: """
            Prints one line for each: the time of the last use, bytes, and the locator, the most recently used first; \
            - in the place of the locator for a file that is damaged or of another version.
            """)

    @Flag(help: "Print one JSON object for each.")
    var json = false

    func run() throws {
        Verbosity.isJSON = self.json
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        for index in try CachedIndex.all(in: .automatic) {
            let row = Row(index)
            let line =
                self.json
                ? String(decoding: try encoder.encode(row), as: UTF8.self)
                : "\(row.lastUse) \(row.byteCount) \(row.locator ?? "-")"
            try printLine(line)
        }
    }
}

/// One index of the output of `ls`.
private struct Row: Encodable {
    let path: String
    let locator: String?
    let byteCount: Int64
    let lastUse: String

    init(_ index: CachedIndex) {
        self.path = printable(index.path)
        self.locator = index.origin.map(printable)
        self.byteCount = index.byteCount
        self.lastUse = factText(Date(timeIntervalSince1970: TimeInterval(index.lastUse)))
    }
}
