import BlobTestSupport
import Foundation
import Testing

/// The documents of a release state the versions of the formats as the sources have them.
@Suite struct ReleaseTests {
    @Test func theChangelogStatesTheVersionsOfTheFormats() throws {
        let changelog = try Self.text(of: "CHANGELOG.md")
        let index = try Self.number(/static let version: UInt32 = (\d+)/, in: "Sources/BlobIndex/IndexTable.swift")
        #expect(changelog.contains("The index format has version \(index)."))
        let catalogue = try Self.number(
            /user_version = (\d+)/, in: "Plugins/AssetLibrarySource/Catalogue/Catalogue+Schema.swift")
        #expect(changelog.contains("the catalogue has schema version \(catalogue)."))
    }

    @Test func theChangelogBeginsWithTheVersionOfTheCommands() throws {
        let first = try Self.text(of: "CHANGELOG.md").split(separator: "\n").first { $0.hasPrefix("## ") }
        let match = try #require(first?.wholeMatch(of: /## (\d+\.\d+\.\d+) – (unreleased|\d{4}-\d\d-\d\d)/))
        #expect(try Self.text(of: "Sources/BlobCommandLine/Version.swift").contains("\"\(match.output.1)\""))
    }

    /// Returns the largest number that the expression finds in a file.
    private static func number(_ expression: Regex<(Substring, Substring)>, in path: String) throws -> Int {
        try #require(try Self.text(of: path).matches(of: expression).compactMap { Int($0.output.1) }.max())
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: projectFolder.appendingPathComponent(path), encoding: .utf8)
    }
}
