import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryQuarantineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine", abstract: "Shows, restores or removes the files that were set aside.",
        discussion: "They are damaged originals, files that no row of the catalogue names, and damaged catalogues.",
        subcommands: [List.self, Restore.self, Empty.self])

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ls", abstract: "Lists the files: byte count, date, and name.")

        @OptionGroup var source: SourceOptions

        func run() throws {
            for file in try self.source.openLibrary(for: .reading).quarantinedFiles() {
                try printLine("\(file.byteCount)  \(file.date.formatted(.iso8601))  \(file.name)")
            }
        }
    }

    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore", abstract: "Makes files originals again, and prints the URL of each asset.",
            discussion: """
                A damaged original goes back to its place, where its good parts can be read; importing the picture again \
                from elsewhere replaces it.
                """)

        @Argument(help: "The names of the files, as ls prints them.")
        var names: [String]

        @OptionGroup var source: SourceOptions

        func run() throws {
            let context = try self.source.makeContext()
            let library = try self.source.openLibrary(for: .writing)
            for name in self.names {
                try printLine(library.restoreQuarantined(name, context: context).locator.text)
            }
        }
    }

    struct Empty: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "empty", abstract: "Removes the files for ever, and prints their names.")

        @Option(help: ArgumentHelp("Keep what was set aside in this many last days (default: 0).", valueName: "days"))
        var keepDays = 0

        @OptionGroup var source: SourceOptions

        func validate() throws {
            guard (0...100_000).contains(self.keepDays) else {
                throw ValidationError("--keep-days takes a number of days from 0.")
            }
        }

        func run() throws {
            let library = try self.source.openLibrary(for: .writing)
            for name in try library.emptyQuarantine(olderThan: .seconds(self.keepDays * 86_400)) {
                try printLine(name)
            }
        }
    }
}
