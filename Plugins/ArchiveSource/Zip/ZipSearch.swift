import BlobCore
import BlobDeflate

/// A search for one member of a zip.
///
/// Needs memory per member only if the directory is not in the order of the bytes.
struct ZipSearch {
    /// A member and the range of its bytes.
    struct FoundEntry {
        let entry: ZipEntry
        /// The range of the compressed bytes in the base, after the check of the local header.
        let data: Range<Int64>
        let scanner: ArchiveScanner
        /// The member's lease of the state shared in a pass; nil for a member that is read on its own.
        var lease: ZipPass.Lease?
    }

    let base: any BlobInputStreamDataSource
    let selector: BlobLocator.Selector
    let context: BlobContext
    /// The pass in which several members are read; nil to read each member on its own.
    var pass: ZipPass?

    /// Finds the member, and checks its local header.
    ///
    /// - Parameters:
    ///   - known: The member's record in the table; nil to search.
    ///   - extents: The extents of the members in the table; nil if no members overlap.
    func open(
        _ known: MemberTable.Record? = nil, overlapping extents: ZipExtents? = nil
    ) throws(BlobError) -> FoundEntry {
        guard let pass else {
            let directory = try ZipDirectory(self.base, self.context)
            return try self.open(known, extents, directory, directory.scanner)
        }
        return try pass.withLease(over: self.base, self.context) { lease throws(BlobError) in
            var found: FoundEntry
            if known == nil, case .index(let index) = self.selector {
                // In a pass, members are usually read by index; a search for each member would require a pass over all
                // entries.
                let extents = try pass.extents(lease.directory, self.context)
                guard extents.recordOffsets.indices.contains(index) else { throw BlobError(notFound: self.selector) }
                var records = lease.directory.records(from: extents.recordOffsets[index])
                guard let record = try records.next() else { throw BlobError(notFound: self.selector) }
                found = try Self.open(
                    ZipEntry(record, index: index), within: extents.bounds(at: record.localOffset), lease.members)
            } else {
                found = try self.open(known, extents, lease.directory, lease.members)
            }
            found.lease = lease
            return found
        }
    }

    private func open(
        _ known: MemberTable.Record?, _ extents: ZipExtents?, _ directory: ZipDirectory, _ scanner: ArchiveScanner
    ) throws(BlobError) -> FoundEntry {
        if let known {
            var records = directory.records(from: known.entryOffset)
            guard let record = try records.next(), record.isNamed(known.member.name) else {
                throw .staleTableError
            }
            let around =
                extents?.bounds(at: record.localOffset)
                ?? ZipMemberBounds(precedingEndOffset: 0, nextRecordOffset: directory.range.lowerBound)
            return try Self.open(ZipEntry(record, index: known.member.index), within: around, scanner)
        }
        let (entry, surroundings) = try self.find(directory)
        return try Self.open(entry, within: surroundings, scanner)
    }

    /// Checks the local header of a known member.
    static func open(
        _ entry: ZipEntry, within surroundings: ZipMemberBounds, _ scanner: ArchiveScanner
    ) throws(BlobError) -> FoundEntry {
        guard entry.encryption != .unsupported else {
            throw BlobError(.encrypted, "The member is encrypted with a method that is not supported.")
        }
        var entry = entry
        let data = try entry.locate(scanner, within: surroundings)
        try entry.member.checkKind()
        guard entry.decryptedForm.compressedByteCount >= 0 else {
            throw BlobError(
                .corrupted, "The encrypted member is shorter than the data that its encryption requires.",
                byteOffset: data.lowerBound)
        }
        return FoundEntry(entry: entry, data: data, scanner: scanner)
    }

    private func find(_ directory: ZipDirectory) throws(BlobError) -> (ZipEntry, ZipMemberBounds) {
        if let found = try self.find(directory, { self.matches($0, $1) }) { return found }
        // Exact names take precedence over the names that other programs show.
        guard case .name(let name) = self.selector,
            let found = try self.find(directory, { record, _ in record.isShown(as: name) })
        else { throw BlobError(notFound: self.selector) }
        return found
    }

    private func find(
        _ directory: ZipDirectory, _ matches: (ZipRecord, Int) -> Bool
    ) throws(BlobError) -> (ZipEntry, ZipMemberBounds)? {
        var found: ZipEntry?
        var (count, index) = (0, 0)
        var before = Neighbours(nextRecordOffset: directory.range.lowerBound)
        var around = Neighbours(nextRecordOffset: directory.range.lowerBound)
        var records = directory.records()
        while let record = try records.next() {
            if let found {
                around.add(record, around: found)
                if matches(record, index), !found.isSame(as: record) { count += 1 }
            } else if matches(record, index) {
                found = ZipEntry(record, index: index)
                count = 1
            } else {
                before.add(record)
            }
            index += 1
            if index & 0xFFF == 0 { try self.context.check() }
        }
        try directory.checkCount(records)
        guard let found else { return nil }
        guard count == 1 else { throw .ambiguousMemberError(found.name, count: count, first: found.index) }
        // Nearly all writers list members in the order of their bytes; otherwise, a second pass is needed.
        guard before.highest < found.localOffset else {
            return (found, try directory.extents(self.context).bounds(at: found.localOffset))
        }
        return (
            found,
            ZipMemberBounds(
                precedingEndOffset: max(before.endOffset, around.endOffset), nextRecordOffset: around.nextRecordOffset)
        )
    }

    private func matches(_ record: ZipRecord, _ index: Int) -> Bool {
        switch self.selector {
        case .name(let name): record.isNamed(name)
        case .index(let wanted): index == wanted
        }
    }

    /// The bounds set by the other members, gathered during a pass.
    private struct Neighbours {
        /// The highest offset of a local header among the members before the requested member.
        var highest: Int64 = -1
        var endOffset: Int64 = 0
        var nextRecordOffset: Int64

        mutating func add(_ record: ZipRecord) {
            self.highest = max(self.highest, record.localOffset)
            self.endOffset = max(self.endOffset, record.minimumEndOffset)
        }

        mutating func add(_ record: ZipRecord, around entry: ZipEntry) {
            if record.localOffset > entry.localOffset {
                self.nextRecordOffset = min(self.nextRecordOffset, record.localOffset)
            } else if record.localOffset < entry.localOffset || !entry.isSame(as: record) {
                // Another member at the same offset ends after this member begins, which is reported as an overlap.
                self.endOffset = max(self.endOffset, record.minimumEndOffset)
            }
        }
    }
}

extension ZipSearch.FoundEntry {
    /// Returns the bytes of the member, encrypted or not.
    func makeBody(
        _ info: BlobInfo, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        guard let encryption = self.entry.encryption else { return try self.makePlainBody(info, over: base, context) }
        return try self.makeBody(info, decrypting: encryption, over: base, context)
    }

    /// Returns bytes that are not encrypted: a ``ZipStream`` if they are stored or deflated; otherwise libarchive
    /// decodes them from a zip with only this member.
    func makePlainBody(
        _ info: BlobInfo, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        if let method = ZipStream.Method(rawValue: self.entry.method) {
            return .stream(try ZipStream(self, method, info: info, context), startingAt: 0)
        }
        try self.checkMemory(context)
        // libarchive treats LZMA without content as an error.
        if self.entry.method == Self.lzma, self.entry.byteCount == 0, self.entry.checksum == 0 {
            return .positional(info) { _, _ in
                context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: 0, check: "CRC-32")
            }
        }
        var data: any BlobInputStreamDataSource = base.slice(self.data)
        if self.entry.method == Self.xz { data = InspectedSource(base: data, inspector: XzInspector(context)) }
        let source = self.entry.singleMemberZip(over: data)
        let found = try MemberSearch.FoundEntry(
            onlyMemberOf: source, context, checksum: self.entry.hasChecksum ? self.entry.checksum : nil)
        return .stream(MemberStream(found, info: info, format: .zip, context), startingAt: 0)
    }

    /// The numbers of compression methods (APPNOTE.TXT 4.4.5).
    private static let (lzma, zstd, xz, ppmd) = (UInt16(14), UInt16(93), UInt16(95), UInt16(98))

    /// Checks the memory for decoding against the limit, because libarchive has no limit of its own.
    private func checkMemory(_ context: BlobContext) throws(BlobError) {
        let byteCount = min(Int64(CompressionFormat.headerByteCount), Int64(self.data.count))
        let beginning = Array(try self.scanner.bytes(at: self.data.lowerBound, count: Int(byteCount)))
        var needed: UInt64?
        switch self.entry.method {
        // 5.8.8: two version numbers, the length of the properties, and the properties: a byte and the window.
        case Self.lzma where beginning.count >= 9: needed = beginning[5..<9].littleEndian
        case Self.zstd: needed = CompressionFormat.zstd.windowByteCount(beginning)
        // 5.10.2: four bits for the model order, eight bits for the memory in MiB minus one.
        case Self.ppmd where beginning.count >= 2:
            needed = ((beginning[0..<2].littleEndian >> 4 & 0xFF) + 1) << 20
        default: break
        }
        try context.checkMemory(needed ?? 0, for: "The member")
    }

    /// Returns the bytes of an encrypted member.
    ///
    /// libarchive decrypts them as a stored member, and they are then decoded like any other member.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` without a password, or if the password is wrong or cannot be valid.
    func makeBody(
        _ info: BlobInfo, decrypting encryption: ZipEncryption, over base: any BlobInputStreamDataSource,
        _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        let password = try context.password(of: base.locator, for: "This member")
        guard !password.isEmpty, !password.utf8.contains(0) else {
            throw BlobError(.encrypted, "The password of an encrypted member must not be empty or contain a zero byte.")
        }
        let decrypted = self.entry.decryptedForm
        let range = 0..<decrypted.compressedByteCount
        let bytes = DecryptedBytes(
            encryptedZip: self.entry.encryptedForm.singleMemberZip(over: base.slice(self.data)),
            byteCount: range.upperBound,
            password: password)
        let start = self.data.lowerBound + encryption.overhead.before
        // The authentication code is verified after the checks of the decrypted bytes.
        let reportEnd = { [entry = self.entry] in
            context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: entry.byteCount, check: entry.check)
        }
        var context = context
        context.reportsEnds = false
        do throws(BlobError) {
            let scanner = try ArchiveScanner(bytes, context)
            // The first read detects a wrong password.
            _ = try scanner.bytes(at: 0, count: 1)
            let found = ZipSearch.FoundEntry(entry: decrypted, data: range, scanner: scanner)
            let body = try found.makePlainBody(info, over: bytes, context)
            // A walker reads the encrypted bytes to their end itself.
            let isWalked = if case .stream(let stream, _) = body { stream is MemberStream } else { false }
            let check = DecryptedMember(
                encryptedScanner: isWalked ? nil : scanner, startOffset: start, reportEnd: reportEnd)
            return .inspected(try BlobReader(body, BlobOpening(context: context)), check, startingAt: 0)
        } catch {
            throw error.describingDecryption(start)
        }
    }
}

extension BlobError {
    /// Returns this error for a decrypted member, whose first byte after the encryption header is at `start`.
    fileprivate func describingDecryption(_ start: Int64) -> BlobError {
        guard self.isAboutFormat || self.code == .inconsistent || self.code == .limitExceeded else { return self }
        // Some wrong passwords pass the check of one or two bytes and yield meaningless bytes.
        let isCertain = self.code == .encrypted || self.code == .unsupported
        let hint = isCertain ? "" : " The password may be wrong, or the member may be damaged."
        return BlobError(
            self.code, self.message + hint, operation: self.operation, byteOffset: self.byteOffset.map { $0 + start },
            remedy: self.remedy, cause: self.cause)
    }
}

extension MemberSearch.FoundEntry {
    /// Finds the only member of a generated zip.
    fileprivate init(
        onlyMemberOf zip: any BlobInputStreamDataSource, _ context: BlobContext, checksum: UInt32? = nil,
        password: String? = nil
    ) throws(BlobError) {
        let walker = try ArchiveWalker(.zip, over: zip, context, password: password)
        guard try walker.advance() else { throw BlobError(.corrupted, "The member was not found.") }
        self.init(walker: walker, entry: walker.entry, member: walker.entry.member, checksum: checksum)
    }
}

/// The decrypted bytes of a member of a zip, which may still be compressed.
private struct DecryptedBytes: BlobInputStreamDataSource {
    /// A zip with the encrypted bytes as its only member, declared as stored.
    let encryptedZip: any BlobInputStreamDataSource
    let byteCount: Int64
    let password: String

    var traits: BlobTraits { self.encryptedZip.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: self.byteCount) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let found = try MemberSearch.FoundEntry(
            onlyMemberOf: self.encryptedZip, opening.context, password: self.password)
        let info = self.describe(opening.context)
        return .stream(MemberStream(found, info: info, format: .zip), startingAt: 0)
    }
}

/// Verifies the authentication code, by reading the encrypted bytes of a member to their end before the end is
/// reported.
private struct DecryptedMember: BlobInspector {
    /// The scanner of the encrypted bytes; nil if they are always read to their end.
    let encryptedScanner: ArchiveScanner?
    /// The offset in the archive of the first encrypted byte.
    let startOffset: Int64
    let reportEnd: () -> Void

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        if isLast {
            do throws(BlobError) { try self.encryptedScanner?.drain() } catch {
                throw error.describingDecryption(self.startOffset)
            }
            self.reportEnd()
        }
        return 0..<bytes.byteCount
    }

    func reportedError(_ error: BlobError) -> BlobError { error.describingDecryption(self.startOffset) }
}

/// The detection of lengths of 4 GiB or more, which a writer without zip64, such as the archiver of macOS, stores
/// modulo 2^32.
enum WrappedLength {
    static let modulus: Int64 = 1 << 32
    /// The maximum ratio of deflate.
    private static let maximumRatio: Int64 = 1032
    /// The number of compressed bytes to decode for an estimate; they expand to at most 4 MiB.
    private static let sampleByteCount: Int64 = 4096

    /// Returns true if the member is likely to be longer than its length in the directory.
    ///
    /// Its length is then unknown until its end, where it must match modulo 2^32, and the checksum must match.
    ///
    /// Otherwise, the length in the directory is used, and reading the member throws if it is longer.
    static func isLikely(of found: ZipSearch.FoundEntry) throws(BlobError) -> Bool {
        let entry = found.entry
        guard ZipStream.Method(rawValue: entry.method) == .deflated, entry.encryption == nil, !entry.hasZip64Field,
            entry.byteCount / Self.modulus == 0,
            (entry.byteCount + Self.modulus) / Self.maximumRatio < entry.compressedByteCount
        else { return false }
        // Deflate adds at most a few bytes to each block.
        if entry.compressedByteCount > entry.byteCount + entry.byteCount / 64 + 1024 { return true }
        let ratio = try Self.sampledRatio(of: found)
        return Double(entry.compressedByteCount) * ratio > Double(entry.byteCount + Self.modulus / 2)
    }

    /// Returns the ratio of decoded to compressed bytes at the beginning of the member; 1 for damaged data.
    private static func sampledRatio(of found: ZipSearch.FoundEntry) throws(BlobError) -> Double {
        let sample = try found.scanner.bytes(
            at: found.data.lowerBound, count: Int(min(Self.sampleByteCount, Int64(found.data.count))))
        var (rest, decodedCount) = (sample, 0)
        var inflater = try Inflater()
        let buffer = Window(1 << 16)
        while true {
            guard let isDone = try? buffer.fill({ try inflater.decode(&rest, into: &$0) }) else { return 1 }
            decodedCount += buffer.count
            if isDone || buffer.isEmpty { return Double(decodedCount) / Double(max(sample.count - rest.count, 1)) }
        }
    }
}
