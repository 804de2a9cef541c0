import ArgumentParser
import BlobIndex
import BlobStreamsStandard

struct IndexVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verifies every restart point of the index of a locator by decoding.",
        discussion: """
            Decodes everything twice: from the start, which shows whether the checksums of the index are right, and from \
            each restart point with its window. Prints a line for each point that is wrong, or the number of points \
            when all are right. The index stays as it is.
            """)

    @OptionGroup var options: IndexOptions

    func run() throws {
        let context = try self.options.makeContext()
        let locator = try self.options.parsedLocator()
        let file = try self.options.file(for: locator)
        let indexable = try self.options.source.makeRegistry().indexable(for: locator, context: context)
        guard file.exists else {
            throw BlobError(.notFound, "There is no index \(file.path).", locator: locator.description)
        }
        guard let verifying = indexable as? any IndexVerifying else {
            throw BlobError(
                .unsupported, "No layer of this has restart points.", locator: locator.description)
        }
        var faultCount = 0
        let pointCount = try verifying.verifyIndex(context) { fault in
            faultCount += 1
            try printLine(printable(fault))
        }
        guard let pointCount else {
            throw BlobError(
                .inconsistent,
                "The index \(file.path) has no restart points of the current content: it is stale, damaged, or of "
                    + "another version.", locator: locator.description)
        }
        guard faultCount == 0 else {
            throw BlobError(
                .corrupted,
                "The index \(file.path) is wrong (faults: \(faultCount), restart points: \(pointCount)).",
                locator: locator.description)
        }
        try printLine("\(pointCount) restart points are right.")
    }
}
