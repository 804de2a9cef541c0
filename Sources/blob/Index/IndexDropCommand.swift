import ArgumentParser
import BlobIndex
import BlobStreamsStandard

struct IndexDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Removes the index of a locator, and prints its path if there was one.",
        discussion: """
            One index file serves all layers over one origin, and is removed as a whole. --all removes every index in \
            the user's cache folder, and prints their paths.
            """)

    @Argument(help: "The locator of the index.")
    var locator: String?

    @Flag(help: "Remove all indexes in the user's cache folder.")
    var all = false

    @OptionGroup var place: IndexPlaceOptions

    func validate() throws {
        guard self.all == (self.locator == nil) else {
            throw ValidationError("Name one locator, or give --all.")
        }
        guard !self.all || self.place.policy == .automatic else {
            throw ValidationError("--all is of the user's cache folder, and goes without --output and --index.")
        }
    }

    func run() throws {
        guard let locator = self.locator else {
            for path in try CachedIndex.removeAll(in: self.place.policy) { try printLine(printable(path)) }
            return
        }
        let file = try self.place.file(for: self.place.source.makeRegistry().locator(for: locator))
        if try file.remove() { try printLine(printable(file.path)) }
    }
}
