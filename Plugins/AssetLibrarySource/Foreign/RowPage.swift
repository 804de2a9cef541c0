import GRDB

/// A page of rows.
struct RowPage {
    /// The number of rows that a statement reads at most.
    static let rowLimit = 1000
    /// The time after which a page ends, since the other program cannot write meanwhile.
    private static let timeLimit = Duration.milliseconds(10)
    /// The number of bytes of texts after which a page ends, so that long texts do not fill the memory.
    private static let byteLimit = 4 << 20

    /// The assets, and the numbers of their rows.
    private(set) var elements: [(asset: CataloguedAsset, row: Int64)] = []

    /// Reads rows until the page is full.
    ///
    /// - Parameters:
    ///   - key: The column with the number of the row.
    ///   - make: Returns the asset of a row.
    init(
        _ rows: RowCursor, key: String, of table: String, _ make: (CheckedRow) throws -> CataloguedAsset
    ) throws {
        var byteCount = 0
        // From the first row on, because a slow first one must not make pages of one row.
        var end: ContinuousClock.Instant?
        while byteCount < Self.byteLimit, end.map({ ContinuousClock.now < $0 }) ?? true, let row = try rows.next() {
            end = end ?? .now + Self.timeLimit
            let checked = CheckedRow(row, of: table, key: key)
            let asset = try make(checked)
            byteCount += asset.path.utf8.count
            self.elements.append((asset, try checked.value(key)))
        }
    }
}
