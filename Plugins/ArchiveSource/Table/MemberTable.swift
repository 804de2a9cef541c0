import BlobCore
internal import BlobIndex
import BlobPlatform

/// A table of all members of one archive, which finds members by name or index without reading the archive.
///
/// The table is a flat byte array with the layout of a section in an index file: a header, records in blocks of
/// ``recordsPerBlock`` in the archive's order, the offsets of the blocks, and a hash table of the names. A record
/// stores the number of bytes that its name shares with the previous name, and the difference between its position and
/// the previous position. IndexFiles.md specifies the format.
struct MemberTable: Sendable {
    /// A member and its position.
    struct Record: Equatable {
        var member: BlobMember
        /// The position for ``MemberWalker/go(to:index:)``, or the offset of the entry in a zip; nil if the member can
        /// be reached only by a pass over the archive.
        var entryOffset: Int64?
    }

    /// The number of records in a block. Reading a record decodes the records before it in its block.
    static let recordsPerBlock = 64

    /// The maximum number of members: an index occupies 24 bits in a slot of the hash table, and the other 8 bits are
    /// part of the hash.
    static let maximumCount = 1 << 24

    static let version: UInt8 = 1

    /// The average number of slots in a bucket of the hash table.
    private static let slotsPerBucket = 8

    /// The number of members.
    let count: Int

    /// The bytes of the whole table.
    let bytes: [UInt8]

    private let bucketCount: Int
    private let records: Range<Int>
    private let blocks: Int
    private let buckets: Int
    private let slots: Int

    /// - Throws: ``BlobError/Code/corrupted``; damage in a record is detected only when the record is read.
    init(_ bytes: [UInt8]) throws(BlobError) {
        var reader = IndexReader(bytes)
        guard try reader.readFixed(UInt8.self) == Self.version else {
            throw reader.failure("has a table of members in an unsupported version")
        }
        self.count = try reader.count(atMost: Self.maximumCount)
        let recordByteCount = try reader.count(atMost: bytes.count)
        self.bytes = bytes
        self.bucketCount = Self.bucketCount(self.count)
        self.records = reader.byteOffset..<(reader.byteOffset + recordByteCount)
        self.blocks = self.records.upperBound
        self.buckets = self.blocks + 8 * ((self.count + Self.recordsPerBlock - 1) / Self.recordsPerBlock)
        self.slots = self.buckets + 4 * (self.bucketCount + 1)
        guard bytes.count == self.slots + 4 * self.count else {
            throw reader.failure("has a table of members with a wrong length")
        }
    }

    static func bucketCount(_ count: Int) -> Int { max(1, (count + Self.slotsPerBucket - 1) / Self.slotsPerBucket) }

    /// Returns the hash of a name.
    static func hash(_ name: [UInt8]) -> UInt64 { name.fnv1a }

    /// Returns the bucket and the tag of a hash, which use different bits of the hash.
    static func slot(_ hash: UInt64, _ bucketCount: Int) -> (bucket: Int, tag: UInt32) {
        (Int((hash >> 8) % UInt64(bucketCount)), UInt32(hash & 0xFF))
    }

    /// Returns the members with this name, in the order of their indices.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the table is damaged.
    func records(named name: [UInt8]) throws(BlobError) -> [Record] {
        let (bucket, tag) = Self.slot(Self.hash(name), self.bucketCount)
        let start = Int(self.number32(self.buckets + 4 * bucket))
        let end = Int(self.number32(self.buckets + 4 * (bucket + 1)))
        guard start <= end, end <= self.count else { throw self.corruptionError }
        // Many names may be equal, or crafted to collide; reading all records then costs less than a block per name.
        if end - start > Self.recordsPerBlock { return try self.allRecords(named: name) }
        var found: [Record] = []
        for slot in start..<end {
            let value = self.number32(self.slots + 4 * slot)
            guard value >> 24 == tag else { continue }
            guard let record = try self.record(at: Int(value & 0xFF_FFFF)) else { throw self.corruptionError }
            if record.member.name == name { found.append(record) }
        }
        return found.sorted { $0.member.index < $1.member.index }
    }

    private func allRecords(named name: [UInt8]) throws(BlobError) -> [Record] {
        var found: [Record] = []
        for index in stride(from: 0, to: self.count, by: Self.recordsPerBlock) {
            var block = try self.block(index / Self.recordsPerBlock)
            for _ in 0..<min(Self.recordsPerBlock, self.count - index) {
                let record = try block.next()
                if record.member.name == name { found.append(record) }
            }
        }
        return found
    }

    /// Returns the member with this index; nil if the index is out of range.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the record cannot be decoded.
    func record(at index: Int) throws(BlobError) -> Record? {
        guard (0..<self.count).contains(index) else { return nil }
        var block = try self.block(index / Self.recordsPerBlock)
        for _ in 0..<(index % Self.recordsPerBlock) { _ = try block.next() }
        return try block.next()
    }

    /// Returns the only member that the selector matches.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if no member matches; ``BlobError/Code/ambiguousMember`` if several
    ///   members match; ``BlobError/Code/corrupted`` if the table is damaged.
    func record(of selector: BlobLocator.Selector) throws(BlobError) -> Record {
        switch selector {
        case .index(let index):
            guard let record = try self.record(at: index) else { throw BlobError(notFound: selector) }
            return record
        case .name(let name):
            let records = try self.records(named: name)
            guard let first = records.first else { throw BlobError(notFound: selector) }
            guard records.count == 1 else {
                throw .ambiguousMemberError(name, count: records.count, first: first.member.index)
            }
            return first
        }
    }

    /// Calls `body` with each member in turn, until it returns false.
    func forEach(_ body: (Record) throws -> Bool) throws {
        for index in stride(from: 0, to: self.count, by: Self.recordsPerBlock) {
            var block = try self.block(index / Self.recordsPerBlock)
            for _ in 0..<min(Self.recordsPerBlock, self.count - index) {
                guard try body(try block.next()) else { return }
            }
        }
    }

    private func block(_ number: Int) throws(BlobError) -> MemberRecordReader {
        let start = self.bytes.withUnsafeBytes { $0.number64(at: self.blocks + 8 * number) }
        guard start <= UInt64(self.records.count) else { throw self.corruptionError }
        let range = (self.records.lowerBound + Int(start))..<self.records.upperBound
        return MemberRecordReader(try IndexReader(self.bytes, range), index: number * Self.recordsPerBlock)
    }

    private func number32(_ offset: Int) -> UInt32 { self.bytes.withUnsafeBytes { $0.number32(at: offset) } }

    private var corruptionError: BlobError { BlobError(.corrupted, "The table of members is inconsistent.") }
}

/// A builder of a ``MemberTable``, which receives the members of an archive in order.
struct MemberTableBuilder {
    /// The maximum number of bytes in records: 256 MiB. Each member needs 8 bytes more.
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

    /// Returns the bytes of the table; nil if it exceeds a limit.
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

/// The optional fields of a record; all records have a name and a position.
private struct RecordFields: OptionSet {
    let rawValue: UInt8

    static let kind = RecordFields(rawValue: 1 << 0)
    /// A time that differs in seconds from the time in the previous record.
    static let time = RecordFields(rawValue: 1 << 1)
    static let nanoseconds = RecordFields(rawValue: 1 << 2)
    /// Permissions that differ from the permissions in the previous record.
    static let permissions = RecordFields(rawValue: 1 << 3)
    static let linkTarget = RecordFields(rawValue: 1 << 4)
    static let checksum = RecordFields(rawValue: 1 << 5)
    static let byteCount = RecordFields(rawValue: 1 << 6)
    static let isEncrypted = RecordFields(rawValue: 1 << 7)
}

/// The values of the previous record, to which the next record is relative; empty at the beginning of a block.
private struct PreviousRecord {
    var name: [UInt8] = []
    var entryOffset: Int64 = -1
    var seconds: Int64?
    var permissions: UInt16?
}

/// The kind of a member, stored in a record as one byte.
private struct RecordedKind: Equatable {
    let kind: BlobMember.Kind
    var special: BlobMember.SpecialKind?

    /// The kinds in the order of their numbers.
    static let all: [RecordedKind] =
        [.file, .directory, .symbolicLink, .hardLink, .special].map { RecordedKind(kind: $0) }
        + [.characterDevice, .blockDevice, .fifo, .socket].map { RecordedKind(kind: .special, special: $0) }
}

/// An encoder of records.
struct MemberRecordWriter {
    private(set) var output = IndexWriter()
    private var previous = PreviousRecord()

    mutating func beginBlock() { self.previous = PreviousRecord() }

    mutating func append(_ record: MemberTable.Record) {
        let member = record.member
        let (seconds, nanoseconds) = member.modificationTime.map(Self.split) ?? (nil, 0)
        var fields: RecordFields = []
        if member.kind != .file { fields.insert(.kind) }
        if seconds != self.previous.seconds { fields.insert(.time) }
        if nanoseconds != 0 { fields.insert(.nanoseconds) }
        if member.permissions != self.previous.permissions { fields.insert(.permissions) }
        if member.linkTarget != nil { fields.insert(.linkTarget) }
        let checksum = member.checksum.flatMap(BlobMember.checksum)
        if checksum != nil { fields.insert(.checksum) }
        if member.byteCount != nil { fields.insert(.byteCount) }
        if member.isEncrypted { fields.insert(.isEncrypted) }
        self.output.append(fixed: fields.rawValue)
        let shared = Self.sharedByteCount(member.name, self.previous.name)
        self.output.append(varint: UInt64(shared))
        self.output.append(counted: member.name[shared...])
        let place = record.entryOffset ?? -1
        self.output.append(varint: zigzag(place &- self.previous.entryOffset))
        if let byteCount = member.byteCount { self.output.append(varint: UInt64(bitPattern: byteCount)) }
        if fields.contains(.kind) {
            let kind = RecordedKind(kind: member.kind, special: member.specialKind)
            self.output.append(fixed: UInt8(RecordedKind.all.firstIndex(of: kind) ?? 0))
        }
        if fields.contains(.time) {
            // Adds one, because 0 means no time; the sum does not overflow, because seconds are below 1e15.
            self.output.append(varint: seconds.map { zigzag($0 &- (self.previous.seconds ?? 0)) &+ 1 } ?? 0)
        }
        if fields.contains(.nanoseconds) { self.output.append(fixed: nanoseconds) }
        if fields.contains(.permissions) { self.output.append(varint: member.permissions.map { UInt64($0) + 1 } ?? 0) }
        if let target = member.linkTarget { self.output.append(counted: target) }
        if let checksum { self.output.append(fixed: checksum) }
        self.previous = PreviousRecord(
            name: member.name, entryOffset: place, seconds: seconds, permissions: member.permissions)
    }

    private static func split(_ time: Date) -> (Int64?, UInt32) {
        let seconds = time.timeIntervalSince1970.rounded(.down)
        guard abs(seconds) < 1e15 else { return (nil, 0) }
        let rest = ((time.timeIntervalSince1970 - seconds) * 1_000_000_000).rounded()
        return (Int64(seconds), UInt32(max(0, min(rest, 999_999_999))))
    }

    /// Returns the length of the common prefix of two names.
    private static func sharedByteCount(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var count = 0
        while count < first.count, count < second.count, first[count] == second[count] { count += 1 }
        return count
    }
}

/// A decoder of the records in one block.
struct MemberRecordReader {
    private var input: IndexReader
    private var index: Int
    private var previous = PreviousRecord()

    init(_ input: IndexReader, index: Int) {
        self.input = input
        self.index = index
    }

    mutating func next() throws(BlobError) -> MemberTable.Record {
        let fields = RecordFields(rawValue: try self.input.readFixed())
        let shared = try self.input.count(atMost: self.previous.name.count)
        let name = self.previous.name[..<shared] + (try self.input.readCountedBytes(atMost: self.input.remaining))
        let place = self.previous.entryOffset &+ unzigzag(try self.input.readVarint())
        var member = BlobMember(index: self.index, name: Array(name), isEncrypted: fields.contains(.isEncrypted))
        if fields.contains(.byteCount) { member.byteCount = Int64(try self.input.count()) }
        if fields.contains(.kind) {
            let kind = RecordedKind.all[try Int(self.input.readFixed(UInt8.self)) % RecordedKind.all.count]
            (member.kind, member.specialKind) = (kind.kind, kind.special)
        }
        var seconds = self.previous.seconds
        if fields.contains(.time) {
            let number = try self.input.readVarint()
            seconds = number == 0 ? nil : (self.previous.seconds ?? 0) &+ unzigzag(number - 1)
        }
        let nanoseconds = fields.contains(.nanoseconds) ? try self.input.readFixed(UInt32.self) : 0
        member.modificationTime = seconds.map {
            Date(timeIntervalSince1970: Double($0) + Double(nanoseconds) / 1_000_000_000)
        }
        member.permissions = self.previous.permissions
        if fields.contains(.permissions) {
            let number = try self.input.readVarint()
            member.permissions = number == 0 ? nil : UInt16(truncatingIfNeeded: number - 1)
        }
        if fields.contains(.linkTarget) {
            member.linkTarget = Array(try self.input.readCountedBytes(atMost: self.input.remaining))
        }
        if fields.contains(.checksum) { member.checksum = BlobMember.text(ofChecksum: try self.input.readFixed()) }
        self.index += 1
        self.previous = PreviousRecord(
            name: member.name, entryOffset: place, seconds: seconds, permissions: member.permissions)
        return MemberTable.Record(member: member, entryOffset: place < 0 ? nil : place)
    }
}

/// Maps signed numbers to unsigned numbers, so that small numbers of either sign have short encodings.
private func zigzag(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

private func unzigzag(_ number: UInt64) -> Int64 { Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }

extension BlobMember {
    /// Formats a checksum for a member: `crc32:` and eight digits.
    ///
    /// Optimised, because a listing formats a checksum for each member.
    static func text(ofChecksum checksum: UInt32) -> String {
        String(unsafeUninitializedCapacity: 14) { buffer in
            _ = buffer.initialize(from: "crc32:".utf8)
            for place in 0..<8 {
                let digit = UInt8(truncatingIfNeeded: checksum >> (28 - 4 * UInt32(place)) & 15)
                buffer[6 + place] = digit < 10 ? 0x30 + digit : 0x61 - 10 + digit
            }
            return 14
        }
    }

    /// Parses the checksum of a member; returns nil for text in another form.
    static func checksum(ofText text: String) -> UInt32? {
        guard text.utf8.count == 14, text.utf8.starts(with: "crc32:".utf8) else { return nil }
        var number: UInt32 = 0
        for byte in text.utf8.dropFirst(6) {
            switch byte {
            case 0x30...0x39: number = number << 4 | UInt32(byte - 0x30)
            case 0x61...0x66: number = number << 4 | UInt32(byte - 0x61 + 10)
            default: return nil
            }
        }
        return number
    }
}
