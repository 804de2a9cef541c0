import ArgumentParser
import BlobIndex
import BlobStreamsStandard

/// The options of the commands for the index of one locator.
struct IndexOptions: ParsableArguments {
    @Argument(help: "The locator of the index; for a plain path, the format of the content is detected.")
    var locator: String

    @OptionGroup var place: IndexPlaceOptions

    var source: SourceOptions { self.place.source }

    func makeContext() throws(BlobError) -> BlobContext { try self.place.makeContext() }

    func parsedLocator() throws(BlobError) -> BlobLocator {
        try self.source.makeRegistry().locator(for: self.locator)
    }

    /// Returns the file of the index, which need not exist.
    func file(for locator: BlobLocator) throws(BlobError) -> IndexFile { try self.place.file(for: locator) }
}
