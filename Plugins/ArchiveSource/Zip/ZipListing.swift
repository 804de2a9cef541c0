import BlobStreams

/// The members of a zip, as its central directory has them.
struct ZipListing {
    /// No target of a link is longer: PATH_MAX of Linux.
    private static let maximumTargetByteCount: Int64 = 4096

    /// How long the compressed bytes of a link may be: blocks of deflate can go on for ever without giving a byte, and
    /// many links can share them.
    private static let maximumCompressedTargetByteCount: Int64 = 2 * maximumTargetByteCount

    let base: any BlobInputStreamDataSource
    let context: BlobContext

    /// Calls `body` with one member after the other, until it returns false.
    ///
    /// - Parameter recording: Gets all members and the places of their entries, if no two of them lie over one another.
    func forEach(_ recording: TableRecording?, _ body: (BlobMember) throws -> Bool) throws {
        let directory = try ZipDirectory(self.base, self.context)
        var records = directory.records()
        var links: ArchiveScanner?
        var clock = DOSClock()
        var extents: [(start: Int64, end: Int64)] = []
        var index = 0
        while let record = try records.next() {
            var member = record.member(index: index, &clock)
            if member.kind == .symbolicLink {
                // With a buffer of their own: the directory keeps its.
                let scanner = try links ?? ArchiveScanner(self.base, self.context)
                links = scanner
                member.linkTarget = self.target(of: ZipEntry(record, index: index), scanner)
            }
            // Of more members there is no table, and their places would only take memory.
            if let recording, index <= MemberTable.maximumCount {
                recording.append(member, at: records.recordOffset)
                extents.append((record.localOffset, record.leastEnd))
            }
            guard try body(member) else { return }
            index += 1
            if index & 0xFFF == 0 { try self.context.check() }
        }
        try directory.checkCount(records)
        extents.sort { $0.start < $1.start }
        guard zip(extents, extents.dropFirst()).allSatisfy({ $0.end <= $1.start }),
            extents.last?.end ?? 0 <= directory.range.lowerBound
        else { return }
        try recording?.finish()
    }

    /// The bytes of a symbolic link are what it leads to; nil when they cannot be read.
    private func target(of entry: ZipEntry, _ scanner: ArchiveScanner) -> [UInt8]? {
        guard let method = ZipReader.Method(rawValue: entry.method), !entry.isEncrypted,
            entry.byteCount <= Self.maximumTargetByteCount,
            entry.compressedByteCount <= Self.maximumCompressedTargetByteCount
        else { return nil }
        let around = ZipSurroundings(earlierEnd: 0, next: .max)
        guard let data = try? entry.locate(scanner, within: around),
            let reader = try? ZipReader(
                ZipSearch.Found(entry: entry, data: data, next: data.upperBound, scanner: scanner), method,
                info: BlobInfo(byteCount: entry.byteCount))
        else { return nil }
        return try? [UInt8](unsafeUninitializedCapacity: Int(entry.byteCount) + 1) { buffer, count in
            let buffer = UnsafeMutableRawBufferPointer(buffer)
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            while try reader.read(into: &output) == .bytes {}
            count = output.finalize(for: buffer)
        }
    }
}
