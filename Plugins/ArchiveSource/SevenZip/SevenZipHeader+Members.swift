import BlobCore

extension SevenZipHeader {
    /// The properties of members that have a part in their division, or a length to check.
    private enum Property {
        static let end: UInt64 = 0
        /// A bit for each member, which is set for one without bytes.
        static let emptyStreams: UInt64 = 0x0E
        /// A bit for each member without bytes, which is set for a file.
        static let emptyFiles: UInt64 = 0x0F
        static let names: UInt64 = 0x11
        /// The times of creation and access, of 8 bytes each, as those of modification.
        static let otherTimes: ClosedRange<UInt64> = 0x12...0x13
        static let modificationTimes: UInt64 = 0x14
        static let attributes: UInt64 = 0x15
    }

    /// Reads the members.
    ///
    /// The length of a property must be the one that follows from its content, because libarchive uses either.
    ///
    /// - Returns: The members; nil when they have no names, or names that only libarchive can tell.
    mutating func readMembers(_ count: Int) throws -> SevenZipMembers? {
        var (hasBytes, areEmptyFiles): ([Bool]?, [Bool]?)
        var names: [UInt8]?
        var attributes: [UInt32?]?
        var times = [UInt64?](repeating: nil, count: count)
        while case let property = try self.bytes.number(), property != Property.end {
            let byteCount = try self.bytes.number()
            switch property {
            case Property.emptyStreams:
                guard hasBytes == nil, byteCount == (UInt64(count) + 7) / 8 else { throw Malformed() }
                hasBytes = try self.readPlainBits(count).map { !$0 }
            case Property.emptyFiles:
                let emptyCount = hasBytes?.count { !$0 } ?? 0
                guard emptyCount > 0 else {
                    try self.bytes.parts(byteCount) { _ in }
                    continue
                }
                guard areEmptyFiles == nil, byteCount == (UInt64(emptyCount) + 7) / 8 else { throw Malformed() }
                areEmptyFiles = try self.readPlainBits(emptyCount)
            case Property.names:
                guard names == nil, byteCount % 2 == 1, try self.bytes.byte() == 0 else { throw Malformed() }
                try self.need(byteCount, 1)
                names = []
                names?.reserveCapacity(Int(byteCount))
                try self.bytes.parts(byteCount - 1) { names? += $0 }
            case Property.modificationTimes:
                let read = try self.readValues(UInt64.self, count, byteCount)
                times = zip(read, times).map { $0 ?? $1 }
            case Property.otherTimes: _ = try self.readValues(UInt64.self, count, byteCount)
            case Property.attributes:
                guard attributes == nil else { throw Malformed() }
                attributes = try self.readValues(UInt32.self, count, byteCount)
            default: try self.bytes.parts(byteCount) { _ in }
            }
        }
        guard try self.bytes.id() == .end, self.layout.divide(hasBytes, count) else { throw Malformed() }
        return names.flatMap { names in
            SevenZipMembers(
                names: names, attributes: attributes?.map { $0 ?? 0 } ?? [UInt32](repeating: 0, count: count),
                times: times, hasBytes: hasBytes, areEmptyFiles: areEmptyFiles)
        }
    }

    /// Reads the values of the members that have one.
    private mutating func readValues<Value: FixedWidthInteger>(
        _: Value.Type, _ count: Int, _ byteCount: UInt64
    ) throws -> [Value?] {
        let isForAll = try self.bytes.byte() != 0
        let exist = isForAll ? nil : try self.readPlainBits(count)
        // Two bytes tell whether all have one, and whether the values are elsewhere.
        let rest = (exist?.count { $0 } ?? count) * MemoryLayout<Value>.size
        guard byteCount == UInt64(2 + (isForAll ? 0 : (count + 7) / 8) + rest), try self.bytes.byte() == 0 else {
            throw Malformed()
        }
        var values = [Value?](repeating: nil, count: count)
        for index in values.indices where exist?[index] ?? true { values[index] = try self.bytes.fixed(Value.self) }
        return values
    }
}
