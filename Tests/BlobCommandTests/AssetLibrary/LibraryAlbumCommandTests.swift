#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library album`, and items of shared streams as arguments of the other commands.
@Suite struct LibraryAlbumCommandTests {
    private let folder: TemporaryFolder
    private let library: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.library = self.folder.path("library")
        expect(try Launch("library", "create", "--library", self.library).run(), prints: "")
    }

    private func run(_ arguments: String...) throws -> Outcome {
        try Launch(arguments + ["--library", self.library]).run()
    }

    @Test func albumsAndSharedStreamsAreMadeListedReadAndRemoved() throws {
        let file = try self.folder.write("hello", to: "note.TXT")
        let url = try self.run("library", "import", file).text.trimmingCharacters(in: .whitespacesAndNewlines)
        let id = try #require(url.split(separator: "=").dropFirst().first?.split(separator: "&").first.map(String.init))
        expect(try self.run("library", "album", "create", "My\nJourney"), prints: "")
        expect(try self.run("library", "album", "create", "Family", "--shared"), prints: "")
        expect(try self.run("library", "album", "add", "My\nJourney", url, id), prints: "\(url)\n\(url)\n")
        expect(try self.run("library", "album", "ls", "My\nJourney"), prints: "\(url)\n")
        let item = try self.run("library", "album", "add", "Family", "ph://\(id)/L0/001").text
            .trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(item.hasPrefix("assets-library://asset/asset.TXT?id=") && item != url)
        expect(try self.run("library", "album", "ls"), prints: "1  album  My%0AJourney\n1  shared  Family\n")
        expect(try self.run("cat", item), prints: "hello")
        expect(try self.run("cat", "ph://\(id)", "--offset", "3"), prints: "lo")
        expect(try self.run("library", "remove", url), prints: "")
        expect(try self.run("cat", item), prints: "hello")
        expect(try self.run("cat", url), failsWith: "notFound", 66, saying: url)
        expect(try self.run("library", "album", "rm", "Family", item), prints: "")
        expect(try self.run("library", "album", "rm", "Family"), prints: "")
        expect(try self.run("library", "album", "rm", "Family"), failsWith: "notFound", 66, saying: "Family")
        expect(try self.run("library", "album", "ls"), prints: "0  album  My%0AJourney\n")
    }
}
#endif
