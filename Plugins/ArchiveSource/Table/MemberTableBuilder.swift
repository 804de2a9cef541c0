import BlobCore
internal import BlobIndex

/// A builder of a ``MemberTable``, which takes the members of an archive in their order.
struct MemberTableBuilder {
    /// The maximum number of bytes of records: 256 MiB, besides which each member takes 8 bytes.
    private static let maximumByteCount = 256 << 20

    private var records = MemberRecordWriter()
    private var blockOffsets: [UInt64] = []
    private var hashes: [UInt64] = []
    private var isTooLarge = false

    /// Adds the next member.
    mutating func append(_ record: MemberTable.Record) {
        guard self.hashes.count < MemberTable.maximumCount, self.records.output.bytes.count < Self.maximumByteCount
        else {
            self.isTooLarge = true
            return
        }
        if self.hashes.count.isMultiple(of: MemberTable.recordsPerBlock) {
            self.blockOffsets.append(UInt64(self.records.output.bytes.count))
            self.records.beginBlock()
        }
        self.hashes.append(MemberTable.hash(record.member.name))
        self.records.append(record)
    }

    /// Returns the bytes of the table; nil when it exceeds a limit.
    func finish() -> [UInt8]? {
        guard !self.isTooLarge else { return nil }
        var output = IndexWriter()
        output.append(fixed: MemberTable.version)
        output.append(varint: UInt64(self.hashes.count))
        output.append(varint: UInt64(self.records.output.bytes.count))
        output.append(self.records.output.bytes)
        for offset in self.blockOffsets { output.append(fixed: offset) }
        let bucketCount = MemberTable.bucketCount(self.hashes.count)
        var starts = [UInt32](repeating: 0, count: bucketCount + 1)
        for hash in self.hashes { starts[MemberTable.slot(hash, bucketCount).bucket + 1] += 1 }
        for bucket in 0..<bucketCount { starts[bucket + 1] += starts[bucket] }
        for start in starts { output.append(fixed: start) }
        var slots = [UInt32](repeating: 0, count: self.hashes.count)
        for (index, hash) in self.hashes.enumerated() {
            let (bucket, tag) = MemberTable.slot(hash, bucketCount)
            slots[Int(starts[bucket])] = tag << 24 | UInt32(index)
            starts[bucket] += 1
        }
        for slot in slots { output.append(fixed: slot) }
        return output.bytes
    }
}
