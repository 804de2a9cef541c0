import ArgumentParser
import BlobIndex
import BlobStreamsStandard

/// The options of the commands for indexes that say where an index is.
struct IndexPlaceOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The file of the index; the same as --index PATH.")
    var output: String?

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard self.policy != .none else { throw ValidationError("--index none leaves nothing to do.") }
        guard self.output != "" else { throw ValidationError("--output takes the path of a file.") }
    }

    var policy: BlobIndexPolicy { self.output.map { .file($0) } ?? self.source.index }

    func makeContext() throws(BlobError) -> BlobContext {
        var context = try self.source.makeContext()
        context.index = self.policy
        return context
    }

    /// Returns the file of the index, which need not exist.
    func file(for locator: BlobLocator) throws(BlobError) -> IndexFile {
        guard let file = IndexFile(self.policy, for: locator) else {
            throw BlobError(
                .unsupported, "There is no folder for caches: set HOME or XDG_CACHE_HOME, or give --output FILE.",
                locator: locator.description)
        }
        return file
    }
}
