import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Creates a new, empty library.")

    @Argument(help: "The folder, which need not exist (default: that of --library or \(LibraryLocation.variable)).")
    var folder: String?

    @Option(help: "The folder of the library (default: \(LibraryLocation.variable) in the environment).")
    var library: String?

    func validate() throws {
        guard self.folder == nil || self.library == nil else {
            throw ValidationError("Name the folder once.")
        }
    }

    func run() throws {
        _ = try AssetLibrary.create(at: LibraryLocation.folder(self.folder ?? self.library))
    }
}
