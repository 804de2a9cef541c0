import BlobCore
import Foundation
import GRDB

/// The catalogue of a library, opened again when its file was replaced, and the connection that detects commits.
struct CurrentCatalogue {
    private(set) var catalogue: Catalogue
    private var openingCount = 1
    /// Opened at the first query.
    private var detector: DatabaseQueue?

    init(_ catalogue: Catalogue) { self.catalogue = catalogue }

    /// Returns the last commit to the database in the place of the catalogue.
    ///
    /// - Parameter mayReopen: True to replace the catalogue when another file is in its place.
    /// - Throws: ``BlobError/Code/changed`` when another file is in its place and it is not replaced; errors of
    ///   reading.
    /// - Complexity: Some 5 µs.
    mutating func lastCommit(mayReopen: Bool) throws(BlobError) -> CatalogueCommit {
        let path = self.catalogue.path
        let isReplaced = try !FileSnapshot(path: path).isSameFile(as: self.catalogue.file)
        if isReplaced {
            guard mayReopen else {
                throw BlobError(.changed, "The catalogue '\(path)' was replaced while the library was open.")
            }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            let replacement = try Catalogue(in: folder, isReadOnly: true)
            try replacement.check(isMade: true)
            (self.catalogue, self.detector) = (replacement, nil)
            self.openingCount += 1
        }
        let detector = self.detector ?? (try? Self.makeDetector(path))
        self.detector = detector
        // Outside of a transaction, in which the number would be that of its beginning.
        let number = try? detector?.unsafeRead { db in
            try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
        }
        return CatalogueCommit(openingCount: self.openingCount, number: number)
    }

    private static func makeDetector(_ path: String) throws -> DatabaseQueue {
        var configuration = Catalogue.configuration(isReadOnly: true)
        configuration.busyMode = .immediateError
        configuration.label = "BlobStreams.AssetLibrary.Commits"
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

/// A commit to the catalogue.
struct CatalogueCommit: Sendable {
    fileprivate let openingCount: Int
    /// Nil when it cannot be told, as on some media that nobody can write to.
    let number: Int64?

    /// - Parameter openingCount: The number of times that the file of the catalogue was opened.
    init(openingCount: Int = 0, number: Int64?) { (self.openingCount, self.number) = (openingCount, number) }

    /// Returns true when no connection of any process has committed in between.
    func isSame(as other: Self?) -> Bool {
        self.number != nil && self.number == other?.number && self.openingCount == other?.openingCount
    }

    func isOfSameFile(as other: Self) -> Bool { self.openingCount == other.openingCount }
}

extension AssetLibrary {
    /// Returns the last commit to the catalogue; opens the catalogue again if its file was replaced, unless the library
    /// was opened for writing.
    ///
    /// - Throws: ``BlobError/Code/changed`` when the catalogue of a library for writing was replaced; errors of
    ///   reading.
    func lastCommit() throws(BlobError) -> CatalogueCommit {
        try self.catalogues.withLock { catalogues throws(BlobError) in
            try catalogues.lastCommit(mayReopen: self.access == .reading)
        }
    }
}
