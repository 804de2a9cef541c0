#if Photos
public import BlobCore
public import Foundation
import GRDB

/// A change of an asset, from the ordered journal of a library.
public struct AssetChange: Hashable, Sendable {
    /// The kind of a change.
    public enum Kind: String, Sendable {
        /// The asset was added.
        case inserted
        /// The asset's record was changed, for example by an adjustment, which also increments its generation.
        case changed
        /// The original was moved, lost or found again.
        case moved
        /// The asset was removed.
        case removed
        /// Any asset may have changed in any way, because the journal no longer contains the changes, or the catalogue
        /// was replaced.
        case everything
    }

    /// The number of the change, at least 1; changes are numbered in the order of their commits.
    public let number: Int64
    /// The kind of the change.
    public let kind: Kind
    /// The identifier of the asset; nil for ``Kind/everything``.
    public let assetID: UUID?
    /// The generation of the asset after the change; nil for ``Kind/everything``.
    public let generation: Int64?
}

extension Catalogue {
    /// The minimum number of changes that the journal keeps.
    static let maximumJournalEntryCount = 10_000

    /// Returns the number of the last change; 0 if there were no changes.
    func lastChange() throws(BlobError) -> Int64 { try self.read(Self.lastChange) }

    private static func lastChange(_ db: Database) throws -> Int64 {
        // Not read from the journal, whose last rows may have been deleted.
        try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'change_seq'") ?? 0
    }

    /// Returns the assets whose removal is in the journal of changes.
    static func removedAssets(_ db: Database) throws -> [UUID] {
        let sql = "SELECT DISTINCT asset_uuid FROM change_seq WHERE kind = 'removed'"
        return try String.fetchAll(db, sql: sql).compactMap(UUID.init(uuidString:))
    }

    /// Returns at most `count` changes after `number`, in order, and the number of the last change in the library.
    ///
    /// If some changes are missing, returns one change of the kind ``AssetChange/Kind/everything`` instead.
    func changes(
        after number: Int64, atMost count: Int
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
        guard let id = UUID(uuidString: try change.value("asset_uuid")) else {
            throw change.corruptionError("asset_uuid")
        }
        guard let kind = Kind(rawValue: try change.value("kind")), kind != .everything else {
            throw change.corruptionError("kind")
        }
        self.init(number: try change.value("seq"), kind: kind, assetID: id, generation: try change.value("generation"))
    }
}

/// The changes of a library, in order, as they happen.
///
/// An iteration ends only when its task is cancelled.
///
/// The journal keeps at least the last ``maximumJournalEntryCount`` changes. An iteration that falls behind or begins
/// before these changes receives one change of the kind ``AssetChange/Kind/everything`` for all missed changes, and
/// then continues. The same happens if the catalogue is replaced. Pending changes are stored in the catalogue, not in
/// memory.
public struct AssetChanges: AsyncSequence, Sendable {
    /// The minimum number of changes that the journal keeps.
    public static let maximumJournalEntryCount = Catalogue.maximumJournalEntryCount

    let watch: AssetLibraryWatch
    let number: Int64

    /// Starts an iteration, which keeps the watch alive.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self.watch, after: self.number) }

    /// An iterator over the changes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private static let pageCount = 500

        private let watch: AssetLibraryWatch
        private var states: BlobSequence<AssetLibraryWatch.State, Never>.AsyncIterator
        private var resetCount: Int
        private var lastNumber: Int64
        private var page: ArraySlice<AssetChange> = []

        init(_ watch: AssetLibraryWatch, after number: Int64) {
            self.watch = watch
            self.states = watch.state.states.makeAsyncIterator()
            self.resetCount = watch.state.value.resetCount
            self.lastNumber = number
        }

        /// Returns the next change; nil after the task was cancelled.
        ///
        /// - Throws: Errors from the catalogue; the next call tries again.
        public mutating func next() async throws(BlobError) -> AssetChange? {
            while true {
                if let change = self.page.popFirst() {
                    self.lastNumber = change.number
                    return change
                }
                let (library, last) = (self.watch.library, self.lastNumber)
                let resetCount = self.watch.state.value.resetCount
                let page = try await BlockingPool.briefJobs.value { () throws(BlobError) in
                    try library.catalogue.changes(after: last, atMost: Self.pageCount)
                }
                if resetCount != self.resetCount {
                    self.resetCount = resetCount
                    self.page = [AssetChange(everythingUpTo: page.lastChange)]
                } else if !page.changes.isEmpty {
                    self.page = page.changes[...]
                } else if await self.states.next() == nil {
                    return nil
                }
            }
        }
    }
}

extension AssetLibraryWatch {
    /// Returns the changes after a change with a given number, which may have been reported to an earlier process.
    ///
    /// - Parameter number: The number of the last known change; nil for the most recent change.
    public func changes(since number: Int64? = nil) -> AssetChanges {
        AssetChanges(watch: self, number: number ?? self.state.value.lastChange)
    }
}
#endif
