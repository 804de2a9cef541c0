#if Command && Photos
import ArgumentParser
import AssetLibrarySource
import BlobStreamsStandard
import Foundation

struct LibraryAlbumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album", abstract: "Manages albums of assets, and shared streams.",
        subcommands: [
            LibraryAlbumCreateCommand.self, LibraryAlbumAddCommand.self, LibraryAlbumRemoveCommand.self,
            LibraryAlbumListCommand.self,
        ])
}

struct LibraryAlbumCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates an empty album.",
        discussion: """
            EXAMPLES:
              blob library album create Holiday
              blob library album create --shared Family
            """)

    @Argument(help: "The name of the new album; it must be unique.") var name: String

    @Flag(help: "Create a shared stream, whose items have their own URLs and refer to originals.") var shared = false

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let library = try self.options.place.openLibrary(for: .writing)
        try context.check()
        try library.makeAlbum(named: self.name, isShared: self.shared)
    }
}

struct LibraryAlbumAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Adds assets to an album, and prints their URLs in it.",
        discussion: """
            EXAMPLES:
              blob library album add Holiday UUID
              blob library ls | xargs blob library album add Everything
            """)

    @Argument(help: "The name of the album.") var name: String

    @Argument(help: "The URLs of the assets, or their identifiers.") var assets: [String]

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let library = try self.options.place.openLibrary(for: .writing)
        for id in try assetIDs(self.assets) {
            try context.check()
            try printLine(library.addAsset(id, toAlbum: self.name).locator.text)
        }
    }
}

struct LibraryAlbumRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Removes assets from an album, or the album.",
        discussion: """
            The assets stay in the library.

            EXAMPLES:
              blob library album remove Holiday UUID
              blob library album remove Holiday
            """)

    @Argument(help: "The name of the album.") var name: String

    @Argument(help: "The URLs of the assets, or their identifiers (default: remove the album itself).")
    var assets: [String] = []

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let library = try self.options.place.openLibrary(for: .writing)
        let identifiers = try assetIDs(self.assets)
        if identifiers.isEmpty { try library.removeAlbum(named: self.name, context: context) }
        for id in identifiers { try library.removeAsset(id, fromAlbum: self.name, context: context) }
    }
}

struct LibraryAlbumListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the albums, or the assets of an album.",
        discussion: """
            Prints the number of assets, the kind and the name of each album. The kinds are 'album' and 'shared'; the \
            catalogues of other programs also have 'tag', 'event' and 'folder'.

            EXAMPLES:
              blob library album ls
              blob library album ls Holiday | blob upload --from-file - https://example.com/
            """)

    @Argument(help: "The name of an album (default: list all albums).") var name: String?

    @OptionGroup var options: LibraryOptions

    func run() throws {
        let context = self.options.makeContext()
        let catalogue = try self.options.place.openCatalogue()
        let collections = try catalogue.collections()
        guard let name else {
            for album in collections {
                let count = album.itemCount.map(String.init) ?? "-"
                try printLine("\(count)  \(album.kind.rawValue)  \(printable(album.name))")
            }
            return
        }
        let named = collections.filter { $0.id == name || $0.name == name }
        guard named.count < 2 || named.contains(where: { $0.id == name }) else {
            throw BlobError(
                .ambiguousMember,
                "Several collections have this name: use one of \(named.map(\.id).joined(separator: ", ")).")
        }
        try catalogue.forEachCataloguedAsset(in: named.count == 1 ? named[0].id : name) { asset in
            try context.check()
            try printLine(asset.locator.text)
        }
    }
}

struct LibraryQuarantineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine", abstract: "Lists, restores or deletes the files in the quarantine of the library.",
        discussion: "They are damaged originals, files that the catalogue does not refer to, and damaged catalogues.",
        subcommands: [List.self, Restore.self, Remove.self])

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ls", abstract: "Lists the byte count, the date and the name of each file.",
            discussion: """
                EXAMPLES:
                  blob library quarantine ls
                  blob library quarantine ls --library ~/photos
                """)

        @OptionGroup var options: LibraryOptions

        func run() throws {
            let context = self.options.makeContext()
            let library = try self.options.place.openLibrary(for: .reading)
            for file in try library.quarantinedFiles() {
                try context.check()
                try printLine("\(file.byteCount)  \(file.date.formatted(.iso8601))  \(file.name)")
            }
        }
    }

    struct Restore: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore", abstract: "Restores files as originals, and prints the URL of each asset.",
            discussion: """
                A damaged original returns to its place, and its undamaged parts can be read; importing the picture \
                again from another copy replaces it.

                EXAMPLES:
                  blob library quarantine restore NAME
                  blob library quarantine restore --library ~/photos NAME
                """)

        @Argument(help: "The names of the files, as printed by 'ls'.")
        var names: [String]

        @OptionGroup var options: LibraryOptions

        func run() throws {
            let context = self.options.makeContext()
            let library = try self.options.place.openLibrary(for: .writing)
            for name in self.names {
                try printLine(library.restoreQuarantined(name, context: context).locator.text)
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Deletes the files permanently, and prints their names.",
            discussion: """
                EXAMPLES:
                  blob library quarantine remove
                  blob library quarantine remove --keep-days 30
                """)

        @Option(
            help: ArgumentHelp(
                "Keep files that were quarantined less than this many days ago.", valueName: "days"))
        var keepDays = 0

        @OptionGroup var options: LibraryOptions

        func validate() throws {
            guard (0...100_000).contains(self.keepDays) else {
                throw ValidationError("--keep-days cannot be negative.")
            }
        }

        func run() throws {
            let context = self.options.makeContext()
            let library = try self.options.place.openLibrary(for: .writing)
            let names = try library.emptyQuarantine(olderThan: .seconds(self.keepDays * 86_400), context: context)
            for name in names { try printLine(name) }
        }
    }
}
#endif
