import BlobCore
internal import BlobIndex
import BlobPlatform

/// The fields of a record besides the name and the place, which all records have.
private struct RecordFields: OptionSet {
    let rawValue: UInt8

    static let kind = RecordFields(rawValue: 1 << 0)
    /// A time in seconds that differs from the previous record's.
    static let time = RecordFields(rawValue: 1 << 1)
    static let nanoseconds = RecordFields(rawValue: 1 << 2)
    /// Permissions that differ from the previous record's.
    static let permissions = RecordFields(rawValue: 1 << 3)
    static let linkTarget = RecordFields(rawValue: 1 << 4)
    static let checksum = RecordFields(rawValue: 1 << 5)
    static let byteCount = RecordFields(rawValue: 1 << 6)
    static let isEncrypted = RecordFields(rawValue: 1 << 7)
}

/// The values of the previous record, against which the next one is encoded; empty at the beginning of a block.
private struct Previous {
    var name: [UInt8] = []
    var place: Int64 = -1
    var seconds: Int64?
    var permissions: UInt16?
}

/// The kind of a member, which a record has as one byte.
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
    private var previous = Previous()

    mutating func beginBlock() { self.previous = Previous() }

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
        let shared = Self.sharedCount(member.name, self.previous.name)
        self.output.append(varint: UInt64(shared))
        self.output.append(counted: member.name[shared...])
        let place = record.place ?? -1
        self.output.append(varint: zigzag(place &- self.previous.place))
        if let byteCount = member.byteCount { self.output.append(varint: UInt64(bitPattern: byteCount)) }
        if fields.contains(.kind) {
            let kind = RecordedKind(kind: member.kind, special: member.specialKind)
            self.output.append(fixed: UInt8(RecordedKind.all.firstIndex(of: kind) ?? 0))
        }
        if fields.contains(.time) {
            // Plus one, because 0 means no time; seconds are below 1e15, so that the sum does not overflow.
            self.output.append(varint: seconds.map { zigzag($0 &- (self.previous.seconds ?? 0)) &+ 1 } ?? 0)
        }
        if fields.contains(.nanoseconds) { self.output.append(fixed: nanoseconds) }
        if fields.contains(.permissions) { self.output.append(varint: member.permissions.map { UInt64($0) + 1 } ?? 0) }
        if let target = member.linkTarget { self.output.append(counted: target) }
        if let checksum { self.output.append(fixed: checksum) }
        self.previous = Previous(
            name: member.name, place: place, seconds: seconds, permissions: member.permissions)
    }

    private static func split(_ time: Date) -> (Int64?, UInt32) {
        let seconds = time.timeIntervalSince1970.rounded(.down)
        guard abs(seconds) < 1e15 else { return (nil, 0) }
        let rest = ((time.timeIntervalSince1970 - seconds) * 1_000_000_000).rounded()
        return (Int64(seconds), UInt32(max(0, min(rest, 999_999_999))))
    }

    /// Returns the length of the common prefix.
    private static func sharedCount(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var count = 0
        while count < first.count, count < second.count, first[count] == second[count] { count += 1 }
        return count
    }
}

/// A decoder of the records in one block.
struct MemberRecordReader {
    private var input: IndexReader
    private var index: Int
    private var previous = Previous()

    init(_ input: IndexReader, index: Int) {
        self.input = input
        self.index = index
    }

    mutating func skip() throws(BlobError) { _ = try self.next() }

    mutating func next() throws(BlobError) -> MemberTable.Record {
        let fields = RecordFields(rawValue: try self.input.fixed())
        let shared = try self.input.count(atMost: self.previous.name.count)
        let name = self.previous.name[..<shared] + (try self.input.counted(atMost: self.input.remaining))
        let place = self.previous.place &+ unzigzag(try self.input.varint())
        var member = BlobMember(index: self.index, name: Array(name), isEncrypted: fields.contains(.isEncrypted))
        if fields.contains(.byteCount) { member.byteCount = Int64(try self.input.count()) }
        if fields.contains(.kind) {
            let kind = RecordedKind.all[try Int(self.input.fixed(UInt8.self)) % RecordedKind.all.count]
            (member.kind, member.specialKind) = (kind.kind, kind.special)
        }
        var seconds = self.previous.seconds
        if fields.contains(.time) {
            let number = try self.input.varint()
            seconds = number == 0 ? nil : (self.previous.seconds ?? 0) &+ unzigzag(number - 1)
        }
        let nanoseconds = fields.contains(.nanoseconds) ? try self.input.fixed(UInt32.self) : 0
        member.modificationTime = seconds.map {
            Date(timeIntervalSince1970: Double($0) + Double(nanoseconds) / 1_000_000_000)
        }
        member.permissions = self.previous.permissions
        if fields.contains(.permissions) {
            let number = try self.input.varint()
            member.permissions = number == 0 ? nil : UInt16(truncatingIfNeeded: number - 1)
        }
        if fields.contains(.linkTarget) {
            member.linkTarget = Array(try self.input.counted(atMost: self.input.remaining))
        }
        if fields.contains(.checksum) { member.checksum = BlobMember.text(ofChecksum: try self.input.fixed()) }
        self.index += 1
        self.previous = Previous(
            name: member.name, place: place, seconds: seconds, permissions: member.permissions)
        return MemberTable.Record(member: member, place: place < 0 ? nil : place)
    }
}

/// Maps signed numbers to unsigned ones, so that small ones of both signs stay short.
private func zigzag(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

private func unzigzag(_ number: UInt64) -> Int64 { Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1) }

extension BlobMember {
    /// Formats a checksum for a member: `crc32:` and eight digits. Fast, because a listing formats one for each member.
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

    /// Parses the checksum of a member; returns nil for a text in any other form.
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
