import ArgumentParser
import BlobIndex

struct IndexDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Removes the index of a locator, and prints its path if there was one.",
        discussion: "One index file serves all layers over one origin, and is removed as a whole.")

    @OptionGroup var options: IndexOptions

    func run() throws {
        let file = try self.options.file(for: self.options.parsedLocator())
        if try file.remove() { try printLine(printable(file.path)) }
    }
}
