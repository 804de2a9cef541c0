import BlobStreams
import Foundation

/// What the central directory of a zip says of each member, by the place of its bytes.
///
/// libarchive goes by the local headers, and a directory that says something else would go unnoticed. Numbers of
/// sections are those of APPNOTE.TXT.
struct ZipDirectory {
    /// What is said of one member.
    struct Entry: Equatable {
        let flags: UInt16
        let method: UInt16
        let checksum: UInt32
        let compressedByteCount: Int64
        let byteCount: Int64
        var localOffset: Int64
        let name: ArraySlice<UInt8>
    }

    /// 4.3.16: 22 bytes and a comment of at most 65,535.
    private static let maximumTrailerByteCount = 22 + 65_535

    /// Room for what is read at once; the fixed part of an entry is 46 bytes, its parts of 16-bit lengths follow.
    private static let bufferByteCount = 256 * 1024

    /// By the place of their bytes, as libarchive orders members too.
    let entries: [Entry]

    private let directoryOffset: Int64
    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let validator: BlobValidator?

    init(_ base: any BlobInputStreamDataSource, byteCount: Int64, _ validator: BlobValidator?, _ context: BlobContext)
        throws(BlobError)
    {
        self.base = base
        self.context = context
        self.validator = validator
        let read: (Int64, Int) throws(BlobError) -> ZipBytes = { offset, count throws(BlobError) in
            try Self.read(base, validator, context, at: offset, count: count)
        }
        let tailCount = min(Int64(Self.maximumTrailerByteCount), byteCount)
        let tailOffset = byteCount - tailCount
        let tail = try read(tailOffset, Int(tailCount))
        guard let end = Self.lastTrailer(tail) else {
            throw BlobError(.truncated, "The zip archive ends without the directory of its members.")
        }
        var size = Int64(tail.number32(at: end + 12))
        var declared = Int64(tail.number32(at: end + 16))
        var directoryEnd = tailOffset + Int64(end)
        // 4.3.15 and 4.3.14: where the numbers are in 64 bits.
        let locatorOffset = directoryEnd - 20
        if locatorOffset >= 0 {
            let locator = try read(locatorOffset, 20)
            if locator.number32(at: 0) == 0x0706_4B50 {
                let place = Int64(bitPattern: locator.number64(at: 8))
                let record = try read(max(0, min(place, byteCount)), 56)
                if record.number32(at: 0) == 0x0606_4B50 {
                    size = Int64(bitPattern: record.number64(at: 40))
                    declared = Int64(bitPattern: record.number64(at: 48))
                    directoryEnd = place
                }
            }
        }
        guard size >= 0, size <= directoryEnd, declared >= 0 else {
            throw BlobError(.inconsistent, "The directory of the zip archive does not lie within it.")
        }
        // Something may stand before the archive: then all places are meant from its beginning.
        self.directoryOffset = directoryEnd - size
        let shift = self.directoryOffset - declared
        var entries = try Self.entries(from: self.directoryOffset, to: directoryEnd, read)
        for index in entries.indices {
            let (offset, overflows) = entries[index].localOffset.addingReportingOverflow(shift)
            guard !overflows, offset >= 0, offset < self.directoryOffset else {
                throw BlobError(.inconsistent, "The directory of the zip archive names a place outside of it.")
            }
            entries[index].localOffset = offset
        }
        entries.sort { $0.localOffset < $1.localOffset }
        // The same entry twice means one member, and libarchive takes it so.
        entries = entries.indices.filter { $0 == 0 || entries[$0] != entries[$0 - 1] }.map { entries[$0] }
        guard zip(entries, entries.dropFirst()).allSatisfy({ $0.localOffset < $1.localOffset }) else {
            throw BlobError(.inconsistent, "Two members of the zip archive have their bytes at one place.")
        }
        self.entries = entries
    }

    /// Checks that the local header of a member says the same, and that its bytes are no other member's (4.3.7).
    ///
    /// - Throws: ``BlobError/Code/inconsistent``.
    func check(_ index: Int, byteCount: Int64?) throws(BlobError) -> Entry {
        guard self.entries.indices.contains(index) else {
            throw BlobError(.inconsistent, "The directory of the zip archive has fewer members than there are.")
        }
        let entry = self.entries[index]
        let header = try Self.read(
            self.base, self.validator, self.context, at: entry.localOffset, count: 30 + entry.name.count)
        let (nameCount, extraCount) = (Int(header.number16(at: 26)), Int(header.number16(at: 28)))
        let difference: String? =
            if header.number32(at: 0) != 0x0403_4B50 {
                "place"
            } else if header.number16(at: 8) != entry.method {
                "method"
            } else if nameCount != entry.name.count || header.bytes[30...] != entry.name {
                "name"
            } else if (header.number16(at: 6) ^ entry.flags) & 1 != 0 {
                "encryption"
            } else if header.number16(at: 6) & 8 == 0, header.number32(at: 14) != entry.checksum {
                "checksum"
            } else if let byteCount, byteCount != entry.byteCount {
                "length"
            } else {
                nil
            }
        if let difference {
            throw BlobError(
                .inconsistent,
                "The directory of the zip archive and the header of the member differ in its \(difference).")
        }
        let next = index + 1 < self.entries.count ? self.entries[index + 1].localOffset : self.directoryOffset
        let (end, overflows) = (entry.localOffset + Int64(30 + nameCount + extraCount))
            .addingReportingOverflow(entry.compressedByteCount)
        guard !overflows, end <= next else {
            throw BlobError(.inconsistent, "The member lies over what follows it in the zip archive.")
        }
        return entry
    }

    private static func lastTrailer(_ tail: ZipBytes) -> Int? {
        guard tail.bytes.count >= 22 else { return nil }
        return (0...(tail.bytes.count - 22)).reversed().first { tail.number32(at: $0) == 0x0605_4B50 }
    }

    /// 4.3.12: one entry after the other.
    private static func entries(
        from start: Int64, to end: Int64, _ read: (Int64, Int) throws(BlobError) -> ZipBytes
    ) throws(BlobError) -> [Entry] {
        var entries: [Entry] = []
        var offset = start
        while offset < end {
            let chunk = try read(offset, Int(min(Int64(Self.bufferByteCount), end - offset)))
            var position = 0
            while let (entry, count) = try self.entry(in: chunk, at: position) {
                entries.append(entry)
                position += count
            }
            // What is no entry is a signature of the directory, or nothing that members are found by.
            guard position > 0 else { break }
            offset += Int64(position)
        }
        return entries
    }

    private static func entry(in chunk: ZipBytes, at start: Int) throws(BlobError) -> (Entry, Int)? {
        guard start + 46 <= chunk.bytes.count, chunk.number32(at: start) == 0x0201_4B50 else { return nil }
        let nameCount = Int(chunk.number16(at: start + 28))
        let extraCount = Int(chunk.number16(at: start + 30))
        let count = 46 + nameCount + extraCount + Int(chunk.number16(at: start + 32))
        guard start + count <= chunk.bytes.count else { return nil }
        var numbers = [
            UInt64(chunk.number32(at: start + 24)), UInt64(chunk.number32(at: start + 20)),
            UInt64(chunk.number32(at: start + 42)),
        ]
        // 4.5.3: those that do not fit are in this extra field, in this order.
        var field = start + 46 + nameCount
        let fieldsEnd = field + extraCount
        while field + 4 <= fieldsEnd {
            let (kind, fieldCount) = (chunk.number16(at: field), Int(chunk.number16(at: field + 2)))
            if kind == 1 {
                var place = field + 4
                for index in numbers.indices where numbers[index] == 0xFFFF_FFFF {
                    guard place + 8 <= min(field + 4 + fieldCount, fieldsEnd) else { break }
                    numbers[index] = chunk.number64(at: place)
                    place += 8
                }
            }
            field += 4 + fieldCount
        }
        guard numbers.allSatisfy({ $0 <= UInt64(Int64.max) }) else {
            throw BlobError(.inconsistent, "The directory of the zip archive has a length that no file can have.")
        }
        let entry = Entry(
            flags: chunk.number16(at: start + 8), method: chunk.number16(at: start + 10),
            checksum: chunk.number32(at: start + 16), compressedByteCount: Int64(numbers[1]),
            byteCount: Int64(numbers[0]), localOffset: Int64(numbers[2]),
            name: chunk.bytes[(start + 46)..<(start + 46 + nameCount)])
        return (entry, count)
    }

    /// The bytes at a place; fewer only at the end of the archive.
    private static func read(
        _ base: any BlobInputStreamDataSource, _ validator: BlobValidator?, _ context: BlobContext, at offset: Int64,
        count: Int
    ) throws(BlobError) -> ZipBytes {
        let reader = try base.reader(at: offset, matching: validator, context: context)
        defer { reader.close() }
        do {
            let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
                while initializedCount < count {
                    let rest = UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[initializedCount...])
                    let more = try reader.read(into: rest)
                    if more == 0 { break }
                    initializedCount += more
                }
            }
            return ZipBytes(bytes: bytes)
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}

/// Little-endian numbers in bytes; those past the end are zeros, which are no signature.
struct ZipBytes {
    let bytes: [UInt8]

    func number16(at offset: Int) -> UInt16 { UInt16(truncatingIfNeeded: self.number(at: offset, 2)) }
    func number32(at offset: Int) -> UInt32 { UInt32(truncatingIfNeeded: self.number(at: offset, 4)) }
    func number64(at offset: Int) -> UInt64 { self.number(at: offset, 8) }

    private func number(at offset: Int, _ count: Int) -> UInt64 {
        guard offset >= 0, offset + count <= self.bytes.count else { return 0 }
        return (0..<count).reversed().reduce(0) { $0 << 8 | UInt64(self.bytes[offset + $1]) }
    }
}
