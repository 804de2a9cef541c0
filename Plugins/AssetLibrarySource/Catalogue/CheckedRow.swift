#if Photos
import BlobCore
import GRDB

/// A row whose columns are checked when they are read, because a damaged or forged catalogue may contain anything.
struct CheckedRow {
    private let row: Row
    private let table: String
    private let key: String

    /// - Parameters:
    ///   - table: The table of the columns, for error messages.
    ///   - key: The column of `row` with the number of the row in `table`, for error messages.
    init(_ row: Row, of table: String, key: String = "id") {
        self.row = row
        self.table = table
        self.key = key
    }

    /// Returns the value of a column.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the column contains NULL or a value of another type.
    func value<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(BlobError) -> Value {
        guard let value = Value.fromDatabaseValue(self.storedValue(column)) else { throw self.corruptionError(column) }
        return value
    }

    /// Returns the value of a column; nil if the column contains NULL.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the column contains a value of another type.
    func optionalValue<Value: DatabaseValueConvertible>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(BlobError) -> Value? {
        self.storedValue(column).isNull ? nil : try self.value(column)
    }

    /// Returns true if the state of an original is `missing`.
    func isMissing() throws(BlobError) -> Bool {
        switch try self.value("state", as: String.self) {
        case "present": return false
        case "missing": return true
        default: throw self.corruptionError("state")
        }
    }

    /// Returns the error for a column with an invalid value.
    func corruptionError(_ column: String) -> BlobError {
        let content =
            switch self.storedValue(column).storage {
            case .null: "NULL"
            case .int64: "an integer"
            case .double: "a floating-point number"
            case .string: "text"
            case .blob(let data): "\(data.count) bytes"
            }
        let number = Int64.fromDatabaseValue(self.storedValue(self.key)).map(String.init) ?? "?"
        return BlobError(
            .corrupted,
            "The catalogue contains an invalid value (\(content)) in column '\(column)', row \(number) of "
                + "'\(self.table)'."
        )
    }

    private func storedValue(_ column: String) -> DatabaseValue { self.row[column] ?? .null }
}
#endif
