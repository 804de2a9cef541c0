import BlobCore

/// The extension headers before a member's own header: the pax headers `x` and `X`, and GNU's long names, `L` and `K`.
///
/// If several extensions of one kind precede a member, the last one applies; if both kinds precede it, the first kind
/// applies.
struct TarExtensions {
    /// The maximum length of one extension in bytes: 1 MiB.
    static let maximumByteCount: Int64 = 1 << 20

    /// The offset of the first extension; nil without extensions.
    var startOffset: Int64?
    var pax: PaxRecords?
    var isPaxFirst = false
    private var longName: [UInt8]?
    private var longLinkName: [UInt8]?

    var isEmpty: Bool { self.startOffset == nil }
    var hasLongNames: Bool { self.longName != nil || self.longLinkName != nil }

    var name: [UInt8]? {
        let paxName = self.pax?.sparseName ?? self.pax?.path
        return self.isPaxFirst ? paxName ?? self.longName : self.longName ?? paxName
    }

    var linkName: [UInt8]? {
        let paxName = self.pax?.linkPath
        return self.isPaxFirst ? paxName ?? self.longLinkName : self.longLinkName ?? paxName
    }

    mutating func setLongName(_ body: [UInt8]) { self.longName = Array(body.prefix { $0 != 0 }) }

    mutating func setLongLinkName(_ body: [UInt8]) { self.longLinkName = Array(body.prefix { $0 != 0 }) }
}

/// The relevant records of a pax header; if a key is repeated, the last record applies.
///
/// A record consists of its length in decimal digits, a space, a key, `=`, a value and a line feed.
struct PaxRecords {
    private var keys: Set<String> = []
    private(set) var path: [UInt8]?
    private(set) var linkPath: [UInt8]?
    private(set) var sparseName: [UInt8]?
    /// The number of bytes stored for the member in the archive.
    private(set) var size: Int64?
    /// The length of the member in bytes, including holes.
    private(set) var realSize: Int64?
    private(set) var modificationTime: Double?
    /// The regions that are not holes, in formats 0.0 and 0.1 of GNU sparse files.
    private(set) var sparseRegions: [TarRegion]?
    /// The reason why the bytes cannot be trusted; nil if they can be.
    private(set) var warning: String?
    private var sparseVersion: (major: Int64, minor: Int64)?
    private var regionOffset: Int64?
    private var regionCount: Int64?

    private static let globalKeys: Set = ["size", "mtime"]

    /// Returns true if the header has a record, even an empty one, with this key of ``TarGlobals``.
    func has(_ key: String) -> Bool { self.keys.contains(key) }

    /// True for format 1.0 of GNU sparse files, in which the list of the regions precedes the bytes.
    var hasMapInData: Bool { self.sparseVersion.map { $0 == (1, 0) } ?? false }

    init(_ body: [UInt8]) {
        var rest = body[...]
        while let first = rest.first, first != 0 {
            guard let length = decimal(rest.prefix { $0 != 0x20 }), length <= rest.count,
                let record = Self.record(rest.prefix(Int(length)))
            else {
                self.warning = self.warning ?? "a record in the pax header is malformed"
                break
            }
            self.set(record.key, record.value)
            rest = rest.dropFirst(Int(length))
        }
        if let regionCount, regionCount != Int64(self.sparseRegions?.count ?? 0) {
            self.warning = self.warning ?? "the map of the sparse file has the wrong number of entries"
        }
        if let version = self.sparseVersion, version != (0, 0), version != (0, 1), version != (1, 0) {
            self.warning = self.warning ?? "the format of the sparse file is unknown"
        }
    }

    private static func record(_ bytes: ArraySlice<UInt8>) -> (key: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
        guard bytes.last == 0x0A, let space = bytes.firstIndex(of: 0x20) else { return nil }
        let text = bytes[(space + 1)...].dropLast()
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else { return nil }
        return (text[..<equals], text[(equals + 1)...])
    }

    private mutating func set(_ key: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
        let key = String(decoding: key, as: UTF8.self)
        if Self.globalKeys.contains(key) { self.keys.insert(key) }
        switch key {
        case "path": self.path = Self.text(value)
        case "linkpath": self.linkPath = Self.text(value)
        case "size": self.size = self.number(value)
        case "mtime":
            // Swift parses "nan" and "inf" as numbers, but they are not valid times.
            let time = Double(String(decoding: value, as: UTF8.self))
            self.modificationTime = time.flatMap { $0.isFinite ? $0 : nil }
        case "SCHILY.realsize", "GNU.sparse.size", "GNU.sparse.realsize": self.realSize = self.number(value)
        case "GNU.sparse.name": self.sparseName = Self.text(value)
        case "GNU.sparse.major": self.sparseVersion = (self.number(value) ?? -1, self.sparseVersion?.minor ?? 0)
        case "GNU.sparse.minor": self.sparseVersion = (self.sparseVersion?.major ?? 0, self.number(value) ?? -1)
        case "GNU.sparse.numblocks":
            self.regionCount = self.number(value)
            self.sparseRegions = []
        case "GNU.sparse.offset": self.regionOffset = self.number(value)
        case "GNU.sparse.numbytes":
            guard let offset = self.regionOffset, let count = self.number(value), self.sparseRegions != nil else {
                self.warning = self.warning ?? "the map of the sparse file is malformed"
                return
            }
            self.sparseRegions?.append(TarRegion(byteOffset: offset, byteCount: count))
            self.regionOffset = nil
        case "GNU.sparse.map": self.setMap(value)
        default: break
        }
    }

    /// Returns the value up to its first zero byte; nil if the result is empty.
    private static func text(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        let text = Array(value.prefix { $0 != 0 })
        return text.isEmpty ? nil : text
    }

    /// Parses a map of alternating offsets and lengths, separated by commas.
    private mutating func setMap(_ value: ArraySlice<UInt8>) {
        let numbers = value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { decimal($0) }
        guard numbers.count.isMultiple(of: 2) else {
            self.warning = "the map of the sparse file is malformed"
            return
        }
        var regions: [TarRegion] = []
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard let offset = numbers[index], let count = numbers[index + 1] else {
                self.warning = "the map of the sparse file is malformed"
                return
            }
            regions.append(TarRegion(byteOffset: offset, byteCount: count))
        }
        (self.sparseRegions, self.regionCount) = (regions, nil)
    }

    private mutating func number(_ value: ArraySlice<UInt8>) -> Int64? {
        let number = decimal(value)
        if number == nil { self.warning = "a number in the pax header is malformed" }
        return number
    }
}

/// Parses a number of one or more decimal digits; returns nil for other text, and for a number out of range.
func decimal(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var number: Int64 = 0
    for byte in digits {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        let (product, overflows) = number.multipliedReportingOverflow(by: 10)
        let (sum, overflowsToo) = product.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
        guard !overflows, !overflowsToo else { return nil }
        number = sum
    }
    return number
}

/// The length and the time from global pax headers, `g`, which apply to all later members without values of their own.
///
/// A later global header replaces records with the same keys, and an empty value removes a record (POSIX.1, pax, "pax
/// Extended Header"). GNU tar discards all earlier records instead. A name for all members is ignored, as in
/// libarchive, 7-Zip and Go; GNU tar and Python use it.
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
