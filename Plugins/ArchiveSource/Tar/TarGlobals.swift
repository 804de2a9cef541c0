/// The records of the global pax headers, `g`, which count for all later members without a record of their own.
///
/// A later global header replaces the records that it has, and an empty value removes one (POSIX.1, pax, "pax Extended
/// Header"). GNU tar forgets all earlier records instead.
struct TarGlobals {
    private(set) var path: [UInt8]?
    private(set) var linkPath: [UInt8]?
    private(set) var size: Int64?
    private(set) var modificationTime: Double?

    var isEmpty: Bool {
        self.path == nil && self.linkPath == nil && self.size == nil && self.modificationTime == nil
    }

    mutating func merge(_ records: PaxRecords) {
        if records.has("path") { self.path = records.path }
        if records.has("linkpath") { self.linkPath = records.linkPath }
        if records.has("size") { self.size = records.size }
        if records.has("mtime") { self.modificationTime = records.modificationTime }
    }
}
