import BlobStreams
import GRDB

/// A row of a table: in a damaged or forged catalogue, any of its columns may hold anything.
struct CheckedRow {
    private let row: Row
    private let table: String
    private let key: String

    /// - Parameters:
    ///   - table: The table that the columns are of.
    ///   - key: The column of `row` with the number of the row in `table`.
    init(_ row: Row, of table: String, key: String = "id") {
        self.row = row
        self.table = table
        self.key = key
    }

    /// - Throws: ``BlobError/Code/corrupted`` when the column holds NULL, or something of another type.
    func value<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(BlobError) -> Value {
        guard let value = Value.fromDatabaseValue(self.stored(column)) else { throw self.corrupted(column) }
        return value
    }

    /// As ``value(_:as:)``, for a column that may hold NULL.
    func valueIfAny<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(BlobError) -> Value? {
        self.stored(column).isNull ? nil : try self.value(column)
    }

    /// The error for a column that holds what cannot be.
    func corrupted(_ column: String) -> BlobError {
        let content =
            switch self.stored(column).storage {
            case .null: "NULL"
            case .int64: "a number"
            case .double: "a number with a point"
            case .string: "a text"
            case .blob(let data): "\(data.count) bytes"
            }
        let number = Int64.fromDatabaseValue(self.stored(self.key)).map(String.init) ?? "of no number"
        return BlobError(
            .corrupted,
            "The catalogue holds \(content) where it cannot be: column '\(column)', row \(number) of '\(self.table)'.")
    }

    private func stored(_ column: String) -> DatabaseValue { self.row[column] ?? .null }
}
