import BlobCore

extension SevenZipHeader {
    /// The properties of members that have a part in their division, or a length to check.
    private enum Property {
        static let end: UInt64 = 0
        /// A bit for each member, which is set for one without bytes.
        static let emptyStreams: UInt64 = 0x0E
        /// The times of creation, access and modification, of 8 bytes each.
        static let times: ClosedRange<UInt64> = 0x12...0x14
        static let attributes: UInt64 = 0x15
    }

    /// Reads which members have bytes, the only property that the division needs.
    ///
    /// The length of a property must be the one that follows from its content, because libarchive uses either.
    mutating func readMembers(_ count: Int) throws {
        var hasBytes: [Bool]?
        while case let property = try self.bytes.number(), property != Property.end {
            let byteCount = try self.bytes.number()
            switch property {
            case Property.emptyStreams:
                guard hasBytes == nil, byteCount == (UInt64(count) + 7) / 8 else { throw Malformed() }
                hasBytes = try self.readPlainBits(count).map { !$0 }
            case Property.times: try self.skipValues(count, of: 8, byteCount)
            case Property.attributes: try self.skipValues(count, of: 4, byteCount)
            default: for _ in 0..<byteCount { _ = try self.bytes.byte() }
            }
        }
        guard try self.bytes.id() == .end, self.layout.divide(hasBytes, count) else { throw Malformed() }
    }

    /// Skips the values of the members that have one.
    private mutating func skipValues(_ count: Int, of valueByteCount: Int, _ byteCount: UInt64) throws {
        let isForAll = try self.bytes.byte() != 0
        let definedCount = isForAll ? count : try self.readPlainBits(count).count { $0 }
        // Two bytes tell whether all have one, and whether the values are elsewhere.
        let rest = definedCount * valueByteCount
        guard byteCount == UInt64(2 + (isForAll ? 0 : (count + 7) / 8) + rest), try self.bytes.byte() == 0 else {
            throw Malformed()
        }
        for _ in 0..<rest { _ = try self.bytes.byte() }
    }
}
