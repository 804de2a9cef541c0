#if Command
import BlobTestSupport
import Foundation
import Testing

/// A library that the command made, in a folder beside other files.
struct CommandLibrary {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.path("library")
        expect(try self.run("library", "create"), prints: "")
    }

    /// Runs `blob` with the library.
    func run(_ arguments: String...) throws -> Outcome { try Launch(arguments + ["--library", self.path]).run() }

    /// Imports files; returns the URLs that were printed.
    func add(_ files: String...) throws -> [String] {
        let outcome = try Launch(["library", "import", "--library", self.path] + files).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        return outcome.text.split(separator: "\n").map(String.init)
    }

    /// A PNG of 4 x 2 pixels.
    static let picture = [UInt8](
        Data(
            base64Encoded: """
                iVBORw0KGgoAAAANSUhEUgAAAAQAAAACCAIAAADwyuo0AAAAFElEQVR4nGP4z8DAAMYCCgYMyBwAXOMGu2gSOz8AAAAASUVORK5CYII=
                """) ?? Data())
}
#endif
