/// A writer of the parts of a 7z header.
struct SevenZipHeaderWriter {
    var bytes: [UInt8] = []

    mutating func append(_ ids: SevenZipHeader.ID...) { self.bytes += ids.map(\.rawValue) }

    /// Appends numbers of variable length, as ``SevenZipHeader/Bytes/number()`` reads them.
    mutating func append(_ numbers: some Sequence<UInt64>) {
        for number in numbers {
            // Each byte behind the first, 8 at most, takes a bit from it.
            let count = min(8, max(0, number.bitWidth - number.leadingZeroBitCount - 1) / 7)
            let ones = UInt64(0xFF00) >> UInt64(count) & 0xFF
            self.bytes.append(UInt8(ones | number >> UInt64(8 * count)))
            for index in 0..<count { self.bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
        }
    }

    /// Appends a list of checksums, some of which may not exist.
    mutating func append(checksums: some Collection<UInt32?>) {
        self.append(.checksums)
        let areAllThere = checksums.allSatisfy { $0 != nil }
        self.bytes.append(areAllThere ? 1 : 0)
        if !areAllThere {
            var byte: UInt8 = 0
            for (index, checksum) in checksums.enumerated() {
                if checksum != nil { byte |= 0x80 >> UInt8(index & 7) }
                guard index & 7 == 7 || index == checksums.count - 1 else { continue }
                self.bytes.append(byte)
                byte = 0
            }
        }
        for checksum in checksums {
            if let checksum { withUnsafeBytes(of: checksum.littleEndian) { self.bytes += $0 } }
        }
    }
}
