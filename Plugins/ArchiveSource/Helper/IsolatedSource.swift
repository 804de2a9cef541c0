import BlobCore

/// The source of an archive of a foreign format, and the place where the archive is decoded.
struct IsolatedSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    let isolation: ArchiveIsolation

    init(_ base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation) {
        (self.underlying, self.isolation) = (base, isolation)
    }

    var traits: BlobTraits { self.underlying.traits }
    var locator: BlobLocator? { self.underlying.locator }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.underlying.describe(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.underlying.makeBody(opening) }
}
