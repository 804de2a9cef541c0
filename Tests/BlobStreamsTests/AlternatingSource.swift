import BlobCore
import BlobTestSupport

/// A source that is made anew at each opening.
struct AlternatingSource: BlobInputStreamDataSource {
    let make: @Sendable () throws -> any BlobInputStreamDataSource

    var traits: BlobTraits { .repeatable }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.make().info(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.make().makeBody(opening) }
}

/// Reads to the end, or to an error.
func readingOutcome(
    _ source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, _ context: BlobContext = BlobContext()
) async throws -> ReadingOutcome {
    try await onThread { ReadingOutcome(source, at: byteOffset, context, inPiecesOf: 700) }
}
