/// The length and the time of the global pax headers, `g`, which count for all later members without their own.
///
/// A later global header replaces the records that it has, and an empty value removes one (POSIX.1, pax, "pax Extended
/// Header"). GNU tar forgets all earlier records instead. A name for all members is not used: GNU tar and Python use
/// it, libarchive, 7-Zip and Go do not.
struct TarGlobals {
    private(set) var size: Int64?
    private(set) var modificationTime: Double?

    var isEmpty: Bool {
        self.size == nil && self.modificationTime == nil
    }

    mutating func merge(_ records: PaxRecords) {
        if records.has("size") { self.size = records.size }
        if records.has("mtime") { self.modificationTime = records.modificationTime }
    }
}
