import BlobCore

/// The places of the entries and of the directory in a zip whose lengths are all known.
struct ZipLayout: Sendable {
    /// The offset of each local header, and of the central directory.
    let starts: [Int64]
    /// The offset of each record of the central directory, and of its end.
    let records: [Int64]
    /// The records at the end of the file.
    let end: [UInt8]

    var byteCount: Int64 { self.records[self.records.count - 1] + Int64(self.end.count) }

    /// - Throws: ``BlobError/Code/limitExceeded`` if the zip would have more than 2⁶³ - 1 bytes.
    init(_ entries: [PlannedEntry], _ byteCounts: [Int64], comment: [UInt8]) throws(BlobError) {
        var (starts, records): ([Int64], [Int64]) = ([0], [])
        for (entry, byteCount) in zip(entries, byteCounts) {
            let (start, overflows) = starts[starts.count - 1].addingReportingOverflow(byteCount)
            // A zip of this size cannot be read either; half of the range leaves room for the headers.
            guard !overflows, start < Int64.max / 2 else {
                throw BlobError(.limitExceeded, "The zip would have more bytes than a file can have.")
            }
            let size = Int64(entry.header.count) + entry.storedByteCount(byteCount)
            starts.append(starts[starts.count - 1] + size + entry.descriptorByteCount(byteCount))
        }
        records.append(starts[starts.count - 1])
        for (index, byteCount) in byteCounts.enumerated() {
            records.append(records[index] + entries[index].directoryByteCount(byteCount, at: starts[index]))
        }
        (self.starts, self.records) = (starts, records)
        self.end = Self.end(entries.count, records[0]..<records[records.count - 1], comment)
    }

    /// Returns the records after the central directory, including zip64 records if a number needs them.
    private static func end(_ count: Int, _ directory: Range<Int64>, _ comment: [UInt8]) -> [UInt8] {
        var record = ZipRecord()
        if count >= 0xFFFF || max(directory.lowerBound, Int64(directory.count)) >= PlannedEntry.mark {
            record.append(0x0606_4B50)
            record.append64(44)  // The length of the rest of the record.
            record.append16(3 << 8 | 45)
            record.append16(45)
            record.append64(0)  // The first of one disk.
            for number in [count, count, directory.count] { record.append64(Int64(number)) }
            record.append64(directory.lowerBound)
            record.append(0x0706_4B50)
            record.append(0)
            record.append64(directory.upperBound)
            record.append(1)
        }
        record.append(0x0605_4B50)
        record.append(0)
        for _ in 0..<2 { record.append16(min(count, 0xFFFF)) }
        record.append(min(Int64(directory.count), PlannedEntry.mark))
        record.append(min(directory.lowerBound, PlannedEntry.mark))
        record.append16(comment.count)
        return record.bytes + comment
    }
}
