import BlobStreams

/// What the central directory of a zip says of one member.
struct ZipEntry: Equatable {
    /// As it is listed.
    let member: BlobMember
    /// The name as it is in the local header.
    let rawName: [UInt8]
    let flags: UInt16
    let method: UInt16
    let checksum: UInt32
    let compressedByteCount: Int64
    let byteCount: Int64
    /// The place of the local header in the base.
    let localOffset: Int64

    var index: Int { self.member.index }
    var name: [UInt8] { self.member.name }
    var kind: BlobMember.Kind { self.member.kind }

    init(_ record: ZipRecord, index: Int) {
        var clock = DOSClock()
        self.member = record.member(index: index, &clock)
        self.rawName = Array(record.rawName)
        self.flags = record.flags
        self.method = record.method
        self.checksum = record.checksum
        self.compressedByteCount = record.compressedByteCount
        self.byteCount = record.byteCount
        self.localOffset = record.localOffset
    }

    /// Whether a record says the same; an entry that is there twice means one member.
    func isSame(as record: ZipRecord) -> Bool {
        self.localOffset == record.localOffset && ZipEntry(record, index: self.index) == self
    }

    /// General purpose bit 0; 13 is what hides the headers too (4.4.4).
    var isEncrypted: Bool { self.flags & (1 | 1 << 13) != 0 }

    /// Checks that the local header of the member says the same, and that its bytes are no other member's (4.3.7).
    ///
    /// - Parameters:
    ///   - surroundings: Where its header and bytes may lie: behind what comes before it, before what follows.
    /// - Returns: The place of its compressed bytes.
    /// - Throws: ``BlobError/Code/inconsistent``.
    func locate(_ scanner: ArchiveScanner, within surroundings: ZipSurroundings) throws(BlobError) -> Range<Int64> {
        let fixed = try scanner.bytes(at: self.localOffset, count: 30)
        let (nameCount, extraCount) = (Int(fixed.number16(at: 26)), Int(fixed.number16(at: 28)))
        guard fixed.number32(at: 0) == 0x0403_4B50 else { throw self.differs("place") }
        let header = try scanner.bytes(at: self.localOffset, count: 30 + nameCount + extraCount)
        guard header.count == 30 + nameCount + extraCount else { throw self.differs("place") }
        let flags = header.number16(at: 6)
        guard header.number16(at: 8) == self.method else { throw self.differs("method") }
        guard self.isNamed(header[30..<(30 + nameCount)], isUTF8: flags & ZipRecord.nameIsUTF8 != 0) else {
            throw self.differs("name")
        }
        guard (flags ^ self.flags) & (1 | 1 << 13) == 0 else { throw self.differs("encryption") }
        let start = self.localOffset + Int64(header.count)
        let (end, overflows) = start.addingReportingOverflow(self.compressedByteCount)
        guard !overflows, end <= surroundings.next, surroundings.earlierEnd <= self.localOffset else {
            throw BlobError(
                .inconsistent, "The member and what is around it in the zip archive lie over one another.",
                byteOffset: self.localOffset)
        }
        let checksum = header.number32(at: 14)
        var numbers = Zip64Numbers(
            byteCount: UInt64(header.number32(at: 22)), compressedByteCount: UInt64(header.number32(at: 18)))
        let extra = UnsafeRawBufferPointer(rebasing: header[(30 + nameCount)...])
        if numbers.areMissing { numbers.fill(from: ZipExtraFields(extra)) }
        // 4.4.4, bit 3: the numbers are behind the bytes, and each one is zero here unless the writer knew it.
        let isDeferred = flags & 8 != 0
        let hasChecksum = checksum == self.checksum
        guard hasChecksum || isDeferred && checksum == 0 else { throw self.differs("checksum") }
        let hasLengths =
            numbers.byteCount == UInt64(self.byteCount)
            && numbers.compressedByteCount == UInt64(self.compressedByteCount)
        guard hasLengths || isDeferred && numbers.mayBecome(self) else { throw self.differs("length") }
        if !hasChecksum || !hasLengths { try self.checkDescriptor(scanner, at: end, before: surroundings.next) }
        return start..<end
    }

    /// Whether a local header has the same name; each of the two headers tells for itself what its name is in.
    private func isNamed(_ name: Slice<UnsafeRawBufferPointer>, isUTF8: Bool) -> Bool {
        if name.elementsEqual(self.rawName) { return true }
        guard isUTF8 != (self.flags & ZipRecord.nameIsUTF8 != 0) else { return false }
        return isUTF8
            ? name.elementsEqual(CodePage437.decode(self.rawName))
            : CodePage437.decode(name) == self.rawName
    }

    /// 4.3.9: with or without a signature, its lengths in 32 or 64 bits; what follows it tells which.
    private func checkDescriptor(
        _ scanner: ArchiveScanner, at place: Int64, before next: Int64
    ) throws(BlobError) {
        let bytes = try scanner.bytes(at: place, count: Int(min(24, max(0, next - place))))
        for start in [4, 0] where start == 0 || bytes.number32(at: 0) == 0x0807_4B50 {
            guard bytes.number32(at: start) == self.checksum else { continue }
            let short = (bytes.number32(at: start + 4), bytes.number32(at: start + 8))
            let long = (bytes.number64(at: start + 4), bytes.number64(at: start + 12))
            if start + 12 <= bytes.count,
                short == (
                    UInt32(truncatingIfNeeded: self.compressedByteCount), UInt32(truncatingIfNeeded: self.byteCount)
                )
            {
                return
            }
            if start + 20 <= bytes.count, long == (UInt64(self.compressedByteCount), UInt64(self.byteCount)) { return }
        }
        throw self.differs("descriptor")
    }

    private func differs(_ what: String) -> BlobError {
        BlobError(
            .inconsistent, "The directory of the zip archive and the header of the member differ in its \(what).",
            byteOffset: self.localOffset)
    }
}

extension Zip64Numbers {
    /// Whether the lengths are those of a member, as far as they are told: zeros are not, where they come behind the
    /// bytes.
    fileprivate func mayBecome(_ entry: ZipEntry) -> Bool {
        (self.byteCount == 0 || self.byteCount == UInt64(entry.byteCount))
            && (self.compressedByteCount == 0 || self.compressedByteCount == UInt64(entry.compressedByteCount))
    }
}

/// What lies next to a member in a zip.
struct ZipSurroundings: Equatable {
    /// The least place where an earlier member can end.
    var earlierEnd: Int64
    /// The place of the next header, or that of the directory.
    var next: Int64
}
