import BlobCore
import Foundation
import GRDB

extension Catalogue {
    /// The number of changes that the journal keeps at least.
    static let journalLimit = 10_000

    /// Keeps the journal of changes short: each change whose number is a multiple of 1,000 removes those that are more
    /// than ``journalLimit`` before it.
    static let pruningSchema = """
        CREATE TRIGGER change_pruned AFTER INSERT ON change_seq WHEN NEW.seq % 1000 = 0 BEGIN
            DELETE FROM change_seq WHERE seq <= NEW.seq - \(Self.journalLimit);
        END;
        """

    /// Returns the number of the last change; 0 when there was none.
    func lastChange() throws(BlobError) -> Int64 { try self.read(Self.lastChange) }

    private static func lastChange(_ db: Database) throws -> Int64 {
        // Not from the journal, whose last rows may be gone.
        try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'change_seq'") ?? 0
    }

    /// Returns the assets whose removal the journal of changes has.
    static func removedAssets(_ db: Database) throws -> [UUID] {
        let sql = "SELECT DISTINCT asset_uuid FROM change_seq WHERE kind = 'removed'"
        return try String.fetchAll(db, sql: sql).compactMap(UUID.init(uuidString:))
    }

    /// Returns the changes after `number` in their order, at most `count`, or a change of everything when some of them
    /// are missing; and the number of the last change of all.
    func changes(
        behind number: Int64, atMost count: Int
    ) throws(BlobError) -> (changes: [AssetChange], lastChange: Int64) {
        try self.read { db in
            let last = try Self.lastChange(db)
            let sql = "SELECT seq, asset_uuid, kind, generation FROM change_seq WHERE seq > ? ORDER BY seq LIMIT ?"
            let changes = try Row.fetchAll(db, sql: sql, arguments: [number, count]).map(AssetChange.init)
            let isComplete = changes.first.map { $0.number == number + 1 } ?? (number == last)
            return (isComplete ? changes : [AssetChange(everythingUpTo: last)], last)
        }
    }
}

extension AssetChange {
    init(everythingUpTo number: Int64) {
        self.init(number: number, kind: .everything, assetID: nil, generation: nil)
    }

    fileprivate init(_ row: Row) throws {
        let change = CheckedRow(row, of: "change_seq", key: "seq")
        guard let id = UUID(uuidString: try change.value("asset_uuid")) else { throw change.corrupted("asset_uuid") }
        guard let kind = Kind(rawValue: try change.value("kind")), kind != .everything else {
            throw change.corrupted("kind")
        }
        self.init(number: try change.value("seq"), kind: kind, assetID: id, generation: try change.value("generation"))
    }
}
