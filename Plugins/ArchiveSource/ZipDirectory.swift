import BlobStreams

/// Where the central directory of a zip is, and the way through it.
///
/// Never held as a whole: it is gone through in a buffer, as often as needed. Numbers of sections are those of
/// APPNOTE.TXT.
struct ZipDirectory {
    /// 4.3.16: 22 bytes and a comment of at most 65,535.
    private static let maximumTrailerByteCount = 22 + 65_535

    let scanner: ArchiveScanner
    /// The place of the entries.
    let range: Range<Int64>
    /// What is to be added to the places that the entries name: something may stand before the archive.
    private let shift: Int64
    /// How many members the archive says it has; modulo 2^16 without zip64.
    private let declaredCount: (number: UInt64, modulus: UInt64)

    init(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        try self.init(ArchiveScanner(base, context))
    }

    init(_ scanner: ArchiveScanner) throws(BlobError) {
        guard scanner.hasRandomAccess, let byteCount = scanner.info.byteCount else {
            throw BlobError(.unsupported, "A zip archive has its directory at its end, and this source cannot seek.")
        }
        self.scanner = scanner
        let tailCount = min(Int64(Self.maximumTrailerByteCount), byteCount)
        let tailOffset = byteCount - tailCount
        let tail = try scanner.bytes(at: tailOffset, count: Int(tailCount))
        guard let end = Self.lastTrailer(tail) else {
            throw BlobError(
                .truncated, "The zip archive ends without the directory of its members.", byteOffset: byteCount)
        }
        let trailerOffset = tailOffset + Int64(end)
        var disks = (UInt32(tail.number16(at: end + 4)), UInt32(tail.number16(at: end + 6)))
        var count = UInt64(tail.number16(at: end + 10))
        var modulus: UInt64 = 1 << 16
        var size = UInt64(tail.number32(at: end + 12))
        var declared = UInt64(tail.number32(at: end + 16))
        var directoryEnd = trailerOffset
        // 4.3.15 and 4.3.14: where the numbers are in 64 bits.
        if let place = try Self.zip64Trailer(scanner, before: trailerOffset) {
            let record = try scanner.bytes(at: place, count: 56)
            disks = (record.number32(at: 16), record.number32(at: 20))
            (count, modulus) = (record.number64(at: 32), 0)
            (size, declared) = (record.number64(at: 40), record.number64(at: 48))
            directoryEnd = place
        }
        guard disks == (0, 0) else {
            throw BlobError(
                .unsupported, "The zip archive is one part of several, which cannot be read.", byteOffset: trailerOffset
            )
        }
        guard size <= UInt64(directoryEnd), declared <= UInt64(Int64.max) else {
            throw BlobError(
                .inconsistent, "The directory of the zip archive does not lie within it.", byteOffset: trailerOffset)
        }
        let start = directoryEnd - Int64(size)
        self.range = start..<directoryEnd
        // Something may stand before the archive: then all places are meant from its beginning.
        self.shift = start - Int64(declared)
        self.declaredCount = (count, modulus)
    }

    /// Checks that there were as many entries as the archive says, once all were gone through.
    ///
    /// - Throws: ``BlobError/Code/inconsistent``.
    func checkCount(_ records: Records) throws(BlobError) {
        let count = records.count
        let (number, modulus) = self.declaredCount
        guard modulus == 0 ? UInt64(count) == number : UInt64(count) % modulus == number else {
            throw BlobError(
                .inconsistent, "The zip archive has \(count) members, and says that it has \(number).",
                byteOffset: self.range.upperBound)
        }
    }

    /// A way through the entries from the first one on.
    func records() -> Records { Records(scanner: self.scanner, range: self.range, shift: self.shift) }

    /// 4.3.12: one entry after the other. One that is there twice in a row means one member.
    struct Records {
        let scanner: ArchiveScanner
        let range: Range<Int64>
        let shift: Int64
        private var byteOffset: Int64
        private var previous: (byteOffset: Int64, localOffset: Int64) = (0, -1)
        /// How many entries there were so far, repeated ones too.
        private(set) var count = 0

        fileprivate init(scanner: ArchiveScanner, range: Range<Int64>, shift: Int64) {
            self.scanner = scanner
            self.range = range
            self.shift = shift
            self.byteOffset = range.lowerBound
        }

        /// The next entry, whose bytes stay until the scanner is used again; nil at the end.
        mutating func next() throws(BlobError) -> ZipRecord? {
            while let record = try self.nextRecord() {
                self.count += 1
                let start = self.byteOffset - Int64(record.bytes.count)
                let (previous, place) = (self.previous.byteOffset, record.localOffset)
                let mayBeRepeated = place == self.previous.localOffset
                self.previous = (start, place)
                guard mayBeRepeated else { return record }
                let copy = Array(record.bytes)
                let before = try self.scanner.bytes(at: previous, count: min(Int(start - previous), copy.count))
                if before.elementsEqual(copy) { continue }
                self.byteOffset = start
                return try self.nextRecord()
            }
            return nil
        }

        private mutating func nextRecord() throws(BlobError) -> ZipRecord? {
            let rest = Int(clamping: self.range.upperBound - self.byteOffset)
            let fixed = try self.scanner.bytes(at: self.byteOffset, count: min(ZipRecord.fixedByteCount, rest))
            // 4.3.13: a signature of the directory may follow.
            if rest == 0 || fixed.number32(at: 0) == 0x0505_4B50 { return nil }
            let count = ZipRecord.byteCount(fixed)
            guard let count, count <= rest else { throw self.isBroken }
            let bytes = try self.scanner.bytes(at: self.byteOffset, count: count)
            guard bytes.count == count, let record = ZipRecord(bytes, shift: self.shift),
                record.localOffset < self.range.lowerBound
            else { throw self.isBroken }
            self.byteOffset += Int64(count)
            return record
        }

        private var isBroken: BlobError {
            BlobError(
                .inconsistent, "The directory of the zip archive is broken, or names a place outside of it.",
                byteOffset: self.byteOffset)
        }
    }

    /// The last trailer whose comment reaches to the end of the archive; if there is none, the last.
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

    /// The place of the trailer with 64-bit numbers; nil when there is none.
    private static func zip64Trailer(_ scanner: ArchiveScanner, before offset: Int64) throws(BlobError) -> Int64? {
        let locatorOffset = offset - 20
        guard locatorOffset >= 0 else { return nil }
        let locator = try scanner.bytes(at: locatorOffset, count: 20)
        guard locator.number32(at: 0) == 0x0706_4B50 else { return nil }
        let named = Int64(clamping: locator.number64(at: 8))
        // Where something stands before the archive, the place is meant from its beginning.
        for place in [named, locatorOffset - 56] where place >= 0 && place <= locatorOffset - 56 {
            if try scanner.bytes(at: place, count: 56).number32(at: 0) == 0x0606_4B50 { return place }
        }
        throw BlobError(.inconsistent, "The zip archive names a trailer that is not there.", byteOffset: locatorOffset)
    }
}
