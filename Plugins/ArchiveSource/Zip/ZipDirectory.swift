import BlobCore

/// The central directory of a zip, with an iteration over its entries.
///
/// The directory is never in memory as a whole; its entries are read through a buffer, as often as needed. Section
/// numbers refer to APPNOTE.TXT.
struct ZipDirectory {
    /// The maximum length of the trailer (4.3.16): 22 bytes and a comment of at most 65,535.
    private static let maximumTrailerByteCount = 22 + 65_535

    let scanner: ArchiveScanner
    /// The range of the entries in the base.
    let range: Range<Int64>
    /// The corrections to add to the offsets in entries, because other data may precede the archive.
    ///
    /// The first correction applies from the first entry on, and another from each entry at which offsets modulo 2^32
    /// wrap around.
    private var shifts: [Shift]
    /// True if offsets are modulo 2^32; lengths may then be, too.
    private(set) var isWrapped = false
    /// The declared number of members, modulo 2^16 without zip64.
    private let declaredCount: (number: UInt64, modulus: UInt64)

    init(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        try self.init(ArchiveScanner(base, context))
    }

    init(_ scanner: ArchiveScanner) throws(BlobError) {
        guard scanner.hasRandomAccess, let byteCount = scanner.info.byteCount else {
            throw BlobError(
                .unsupported,
                "The directory of a zip archive is at its end, but this source has no random access or no known length."
            )
        }
        self.scanner = scanner
        let tailCount = min(Int64(Self.maximumTrailerByteCount), byteCount)
        let tailOffset = byteCount - tailCount
        let tail = try scanner.bytes(at: tailOffset, count: Int(tailCount))
        guard let end = Self.lastTrailer(tail) else {
            throw BlobError(
                .truncated, "The zip archive ends without a directory of its members.", byteOffset: byteCount)
        }
        let trailerOffset = tailOffset + Int64(end)
        var disks = (UInt32(tail.number16(at: end + 4)), UInt32(tail.number16(at: end + 6)))
        var count = UInt64(tail.number16(at: end + 10))
        var modulus: UInt64 = 1 << 16
        var size = UInt64(tail.number32(at: end + 12))
        var declared = UInt64(tail.number32(at: end + 16))
        var directoryEnd = trailerOffset
        // 4.3.15 and 4.3.14: the zip64 trailer contains the numbers in 64 bits.
        if let place = try Self.zip64Trailer(scanner, before: trailerOffset, size: size) {
            let record = try scanner.bytes(at: place, count: 76)
            // 7.3.4: version 6.2 adds the algorithm that encrypts the directory.
            if record.number16(at: 14) >= 62, record.number64(at: 4) >= 64, record.number16(at: 74) != 0 {
                throw BlobError(
                    .encrypted, "The directory of the zip archive is encrypted, which is not supported.",
                    byteOffset: place)
            }
            disks = (record.number32(at: 16), record.number32(at: 20))
            (count, modulus) = (record.number64(at: 32), 0)
            (size, declared) = (record.number64(at: 40), record.number64(at: 48))
            directoryEnd = place
        }
        guard disks == (0, 0) else {
            throw BlobError(
                .unsupported, "The zip archive is split into several parts, which is not supported.",
                byteOffset: trailerOffset
            )
        }
        guard size <= UInt64(directoryEnd), declared <= UInt64(Int64.max) else {
            throw BlobError(
                .inconsistent, "The directory of the zip archive lies outside the archive.", byteOffset: trailerOffset)
        }
        let start = directoryEnd - Int64(size)
        self.range = start..<directoryEnd
        // Offsets count from the beginning of the archive, which other data may precede.
        self.shifts = [Shift(recordOffset: start, byteCount: start - Int64(declared))]
        self.declaredCount = (count, modulus)
        if modulus > 0, start >= WrappedLength.modulus { try self.unwrapOffsets() }
    }

    /// Treats the offsets as modulo 2^32 if the members are found at such offsets.
    ///
    /// Writers without zip64 list members in the order of their bytes, so a binary search finds the members at which
    /// the offsets wrap around.
    private mutating func unwrapOffsets() throws(BlobError) {
        let shift = self.shifts[0].byteCount % WrappedLength.modulus
        var records = Records(
            scanner: self.scanner, range: self.range, shifts: [Shift(recordOffset: 0, byteCount: shift)],
            from: self.range.lowerBound)
        var places: [(record: Int64, local: Int64)] = []
        while let record = try records.next() { places.append((records.recordOffset, record.localOffset)) }

        /// Returns the number of times that the offset of a member wrapped around at 4 GiB; nil if its header is not
        /// found at any possible offset.
        func wraps(_ index: Int, among numbers: ClosedRange<Int64>) throws(BlobError) -> Int64? {
            let (record, local) = places[index]
            let fixed = try self.scanner.bytes(at: record, count: ZipRecord.fixedByteCount)
            let nameByteCount = Int(fixed.number16(at: 28))
            let name = Array(try self.scanner.bytes(at: record + Int64(fixed.count), count: nameByteCount))
            for number in numbers where local + number * WrappedLength.modulus < self.range.lowerBound {
                let header = try self.scanner.bytes(
                    at: local + number * WrappedLength.modulus, count: 30 + name.count)
                if header.number32(at: 0) == 0x0403_4B50, header.dropFirst(30).elementsEqual(name) { return number }
            }
            return nil
        }

        let most = self.range.lowerBound / WrappedLength.modulus
        guard !places.isEmpty, let first = try wraps(0, among: 0...most),
            let last = try wraps(places.count - 1, among: first...most)
        else { return }
        var shifts = [Shift(recordOffset: self.range.lowerBound, byteCount: shift + first * WrappedLength.modulus)]
        var parts = [(low: 0, high: places.count - 1, first: first, last: last)]
        while let part = parts.popLast() {
            if part.first == part.last { continue }
            guard part.high - part.low > 1 else {
                let byteCount = shift + part.last * WrappedLength.modulus
                shifts.append(Shift(recordOffset: places[part.high].record, byteCount: byteCount))
                continue
            }
            let middle = (part.low + part.high) / 2
            guard let number = try wraps(middle, among: part.first...part.last) else { return }
            parts.append((middle, part.high, number, part.last))
            parts.append((part.low, middle, part.first, number))
        }
        (self.shifts, self.isWrapped) = (shifts, true)
    }

    /// Returns true if a source ends with a directory whose first member exists, regardless of how the source begins.
    static func exists(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) -> Bool {
        do throws(BlobError) {
            let scanner = try ArchiveScanner(base, context)
            var records = try ZipDirectory(scanner).records()
            guard let place = try records.next()?.localOffset else { return false }
            return try scanner.bytes(at: place, count: 4).number32(at: 0) == 0x0403_4B50
        } catch  where error.isAboutFormat || error.code == .inconsistent {
            return false
        }
    }

    /// Compares the number of entries with the declared number, after all entries were read.
    ///
    /// - Throws: ``BlobError/Code/inconsistent`` if the numbers differ.
    func checkCount(_ records: Records) throws(BlobError) {
        let count = records.count
        let (number, modulus) = self.declaredCount
        guard modulus == 0 ? UInt64(count) == number : UInt64(count) % modulus == number else {
            throw BlobError(
                .inconsistent, "The zip archive has \(count) members, but states a count of \(number).",
                byteOffset: self.range.upperBound)
        }
    }

    /// Reads all entries once, and returns the extents of their members.
    func extents(_ context: BlobContext) throws(BlobError) -> ZipExtents {
        var builder = ZipExtents.Builder()
        var records = self.records()
        while let record = try records.next() {
            builder.append(record, at: records.recordOffset)
            if records.count & 0xFFF == 0 { try context.check() }
        }
        try self.checkCount(records)
        return ZipExtents(builder, before: self.range.lowerBound)
    }

    /// Checks that no other zip, whose members would not be in this directory, precedes the archive.
    ///
    /// Other data may precede and follow a zip, which all readers accept. Must be called after all entries were read.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if another zip precedes the archive; errors from the base.
    func checkBeginning() throws(BlobError) {
        let shift = self.shifts[0].byteCount
        guard shift > 0 else { return }
        let count = min(Int64(Self.maximumTrailerByteCount), shift)
        let tail = try self.scanner.bytes(at: shift - count, count: Int(count))
        guard let place = Self.lastTrailer(tail), place + 22 + Int(tail.number16(at: place + 20)) == tail.count else {
            return
        }
        throw BlobError(trailingDataAfter: .zip, at: shift)
    }

    /// Returns an iteration over the entries, from the first entry or from the entry at a known offset.
    func records(from byteOffset: Int64? = nil) -> Records {
        let start = byteOffset.map { max(self.range.lowerBound, min($0, self.range.upperBound)) }
        return Records(
            scanner: self.scanner, range: self.range, shifts: self.shifts, from: start ?? self.range.lowerBound)
    }

    fileprivate struct Shift {
        /// The offset of the first entry to which the shift applies.
        let recordOffset: Int64
        let byteCount: Int64
    }

    /// An iteration over the entries (4.3.12). An entry that occurs twice in a row represents one member.
    struct Records {
        private let scanner: ArchiveScanner
        private let range: Range<Int64>
        private let shifts: [Shift]
        /// The index of the next entry's shift, and the offset at which the shift ends.
        private var shiftIndex = 0
        private var shiftEnd: Int64 = 0
        /// The part of the directory in the buffer of the scanner, which has no other use during the iteration.
        private var window = UnsafeRawBufferPointer(start: nil, count: 0)
        private var windowOffset: Int64
        private var position = 0
        private var previous: (byteOffset: Int64, localOffset: Int64) = (0, -1)
        /// The number of entries so far, including repeated entries.
        private(set) var count = 0

        /// The offset of the last entry.
        var recordOffset: Int64 { self.previous.byteOffset }

        fileprivate init(scanner: ArchiveScanner, range: Range<Int64>, shifts: [Shift], from byteOffset: Int64) {
            self.scanner = scanner
            self.range = range
            self.shifts = shifts
            self.windowOffset = byteOffset
            self.findShift()
        }

        private mutating func findShift() {
            let next = self.shifts.firstIndex { $0.recordOffset > self.byteOffset } ?? self.shifts.count
            self.shiftIndex = max(next - 1, 0)
            self.shiftEnd = next < self.shifts.count ? self.shifts[next].recordOffset : .max
        }

        /// Returns the next entry, whose bytes are valid until the next call; nil at the end.
        mutating func next() throws(BlobError) -> ZipRecord? {
            while let record = try self.nextRecord() {
                self.count += 1
                let previous = self.previous
                self.previous = (self.byteOffset - Int64(record.bytes.count), record.localOffset)
                guard record.localOffset == previous.localOffset else { return record }
                let copy = Array(record.bytes)
                let isRepeated = try self.scanner.bytes(at: previous.byteOffset, count: copy.count).elementsEqual(copy)
                try self.fill(from: self.previous.byteOffset, atLeast: copy.count)
                if !isRepeated { return try self.nextRecord() }
                self.position = copy.count
            }
            return nil
        }

        private var byteOffset: Int64 { self.windowOffset + Int64(self.position) }

        @inline(__always)
        private mutating func nextRecord() throws(BlobError) -> ZipRecord? {
            let fixed = try self.bytes(ZipRecord.fixedByteCount)
            // 4.3.13: a digital signature of the directory may follow.
            if fixed.isEmpty || fixed.number32(at: 0) == 0x0505_4B50 { return nil }
            guard let count = ZipRecord.byteCount(fixed) else { throw self.brokenDirectoryError }
            let bytes = try self.bytes(count)
            if self.byteOffset >= self.shiftEnd { self.findShift() }
            guard bytes.count == count, let record = ZipRecord(bytes, shift: self.shifts[self.shiftIndex].byteCount),
                record.localOffset < self.range.lowerBound
            else { throw self.brokenDirectoryError }
            self.position += count
            return record
        }

        /// Returns the next bytes, fewer than `count` only at the end of the directory.
        @inline(__always)
        private mutating func bytes(_ count: Int) throws(BlobError) -> UnsafeRawBufferPointer {
            if count > self.window.count - self.position { try self.fill(from: self.byteOffset, atLeast: count) }
            let end = min(self.window.count, self.position + count)
            return UnsafeRawBufferPointer(rebasing: self.window[self.position..<end])
        }

        private mutating func fill(from byteOffset: Int64, atLeast count: Int) throws(BlobError) {
            let rest = self.range.upperBound - byteOffset
            _ = try self.scanner.bytes(at: byteOffset, count: Int(min(Int64(count), rest)))
            self.window = try self.scanner.availableBytes(at: byteOffset, atMost: rest)
            (self.windowOffset, self.position) = (byteOffset, 0)
        }

        private var brokenDirectoryError: BlobError {
            BlobError(
                .inconsistent,
                "The directory of the zip archive is damaged, or refers to an offset outside the archive.",
                byteOffset: self.byteOffset)
        }
    }

    /// Returns the offset of the last trailer whose comment reaches the end of the archive, or otherwise of the last
    /// trailer; nil if not found.
    private static func lastTrailer(_ tail: UnsafeRawBufferPointer) -> Int? {
        guard tail.count >= 22 else { return nil }
        var last: Int?
        for place in (0...(tail.count - 22)).reversed() where tail.number32(at: place) == 0x0605_4B50 {
            let rest = tail.count - place - 22 - Int(tail.number16(at: place + 20))
            if rest == 0 { return place }
            last = last ?? place
        }
        return last
    }

    /// Returns the offset of the trailer with 64-bit numbers; nil if not found.
    ///
    /// - Parameter size: The size of the directory in bytes, from the other trailer.
    private static func zip64Trailer(
        _ scanner: ArchiveScanner, before offset: Int64, size: UInt64
    ) throws(BlobError) -> Int64? {
        let locatorOffset = offset - 20
        guard locatorOffset >= 0 else { return nil }
        let locator = try scanner.bytes(at: locatorOffset, count: 20)
        guard locator.number32(at: 0) == 0x0706_4B50 else { return nil }
        let named = Int64(clamping: locator.number64(at: 8))
        // The end of the last name can look like a locator; then the directory is directly before the other trailer.
        if let size = Int64(exactly: size), size <= offset,
            try scanner.bytes(at: offset - size, count: 4).number32(at: 0) == 0x0201_4B50
        {
            return nil
        }
        // The offset counts from the beginning of the archive, which other data may precede.
        for place in [named, locatorOffset - 56] where place >= 0 && place <= locatorOffset - 56 {
            if try scanner.bytes(at: place, count: 56).number32(at: 0) == 0x0606_4B50 { return place }
        }
        throw BlobError(
            .inconsistent, "The zip archive refers to a zip64 trailer that does not exist.", byteOffset: locatorOffset)
    }
}
