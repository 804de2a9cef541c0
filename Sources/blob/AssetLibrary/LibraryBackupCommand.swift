import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryBackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes a copy of the catalogue, also while others use the library.",
        discussion: """
            The originals and the journal are plain files, which any tool copies. In the place of a lost catalogue, the \
            copy catches up with the journal when the library is opened for writing.
            """)

    @Argument(help: "The file to write, which must not exist.")
    var file: String

    @OptionGroup var source: SourceOptions

    func run() throws {
        try self.source.openLibrary(for: .reading).backUp(to: self.file)
    }
}
