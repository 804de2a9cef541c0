import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard
import Foundation

struct LibraryImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Adds files to the library, and prints the URL of each asset.",
        discussion: """
            Bytes that the library already has are not added again: the URL of their asset is printed, after its \
            original has been read and, if damaged or lost, replaced. A URL that is printed survives a loss of power. \
            Any locator can be imported, not only files.
            """)

    @Argument(help: "The files or locators to import.")
    var files: [String]

    @Flag(help: "Add bytes that the library already has as separate assets, which share the original.")
    var duplicates = false

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        let library = try self.source.openLibrary(for: .writing)
        var firstError: BlobError?
        // Printed once it is certain that the asset persists.
        let assets = try library.makeImport(
            duplicates: self.duplicates ? .addAsset : .reuseAsset, context: context
        ) { result in
            try printLine(result.asset.locator.text)
            if result.isRepaired {
                printToStandardError("blob: repaired a damaged or lost original: \(result.asset.locator.text)\n")
            }
        }
        for argument in self.files {
            do {
                try assets.add(self.source.source(argument, context))
            } catch {
                let error = BlobError(wrapping: error)
                // The others can still be imported, unless the job is cancelled, the disk full, or the output closed.
                guard error.code != .cancelled, error.operation != "write" else {
                    try? assets.finish()
                    throw error
                }
                report(error)
                firstError = firstError ?? error
            }
        }
        try assets.finish()
        if let firstError { throw ExitCode(firstError.code.exitStatus) }
    }
}
