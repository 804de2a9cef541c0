#if Command
import BlobTestSupport
import Foundation
import Testing

/// `blob library album`, and items of shared streams as arguments of the other commands.
@Suite struct LibraryAlbumCommandTests {
    private let library: CommandLibrary
    private var folder: TemporaryFolder { self.library.folder }

    init() throws { self.library = try CommandLibrary() }

    @Test func albumsAndSharedStreamsAreMadeListedReadAndRemoved() throws {
        let file = try self.folder.write("hello", to: "note.TXT")
        let url = try self.library.add(file)[0]
        let id = try #require(url.split(separator: "=").dropFirst().first?.split(separator: "&").first.map(String.init))
        expect(try self.library.run("library", "album", "create", "My\nJourney"), prints: "")
        expect(try self.library.run("library", "album", "create", "Family", "--shared"), prints: "")
        expect(try self.library.run("library", "album", "add", "My\nJourney", url, id), prints: "\(url)\n\(url)\n")
        expect(try self.library.run("library", "album", "ls", "My\nJourney"), prints: "\(url)\n")
        let item = try self.library.run("library", "album", "add", "Family", "ph://\(id)/L0/001").text
            .trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(item.hasPrefix("assets-library://asset/asset.TXT?id=") && item != url)
        expect(try self.library.run("library", "album", "ls"), prints: "1  album  My%0AJourney\n1  shared  Family\n")
        expect(try self.library.run("cat", item), prints: "hello")
        expect(try self.library.run("cat", "ph://\(id)", "--offset", "3"), prints: "lo")
        expect(try self.library.run("library", "remove", url), prints: "")
        expect(try self.library.run("cat", item), prints: "hello")
        expect(try self.library.run("cat", url), failsWith: "notFound", 66, saying: url)
        expect(try self.library.run("library", "album", "remove", "Family", item), prints: "")
        expect(try self.library.run("library", "album", "remove", "Family"), prints: "")
        expect(
            try self.library.run("library", "album", "remove", "Family"), failsWith: "notFound", 66, saying: "Family")
        expect(try self.library.run("library", "album", "ls"), prints: "0  album  My%0AJourney\n")
    }
}
#endif
