public import BlobCore

/// A zip, made while it is read, as a data source.
///
/// The zip streams, seeks and replays as its sources do: any offset can be opened if they have random access. It has
/// the same bytes each time, also in another process, because they depend on the sources and the entries alone.
///
/// A CRC-32 that no source states is computed as the bytes pass. A range with a CRC-32 that is not known yet, such as
/// the directory at the end, first reads those bytes of its source that have not passed. ``BlobContext/index``
/// determines where computed checksums are stored, so that another process need not read the sources for them.
///
/// A source that has changed since the body was created throws ``BlobError/Code/changed``, and a source that ends early
/// throws ``BlobError/Code/truncated``. The message names the entry or the source.
public struct ZipBody: BlobInputStreamDataSource {
    /// The number of entries that are opened together, so that opening the last of many does not list all of them.
    private static let groupCount = 128

    /// The length in bytes; nil if the length of a source is unknown.
    public let byteCount: Int64?
    /// The number of entries.
    public var entryCount: Int { self.contents.entries.count }
    /// The traits that all sources share.
    public let traits: BlobTraits
    private let contents: ZipContents
    private let name: String?
    private let isRandomAccess: Bool
    private let parts: [(source: any BlobInputStreamDataSource, info: BlobInfo?)]

    init(_ contents: ZipContents, name: String?) {
        (self.contents, self.name) = (contents, name)
        let sources = contents.entries.map { $0.source.traits }
        let all: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]
        var traits = sources.reduce(all) { $0.intersection($1) }
        if sources.contains(where: { $0.contains(.preparable) }) { traits.insert(.preparable) }
        self.traits = traits
        self.byteCount = contents.layout?.byteCount
        self.isRandomAccess = contents.layout != nil && contents.entries.allSatisfy(\.isRandomAccess)
        let (count, isRandomAccess) = (contents.entries.count, self.isRandomAccess)
        let groups = stride(from: 0, to: count, by: Self.groupCount).map { start in
            EntryGroup(
                contents: contents, range: start..<min(start + Self.groupCount, count), traits: traits,
                isRandomAccess: isRandomAccess)
        }
        let directory = ZipDirectory(contents: contents, traits: traits)
        self.parts = groups.map { ($0, $0.info) } + [(directory, directory.info)]
    }

    /// Returns the length, the media type, the name, and a validator.
    ///
    /// The validator is derived from the entries and the validators of their sources, so that the same zip has the same
    /// validator in another process.
    public func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: "application/zip", name: self.name,
            validator: self.contents.validator, isRandomAccess: self.isRandomAccess)
    }

    /// Joins the entries, and opens only the source that contains the offset.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .joined(self.parts, self.describe(opening.context))
    }

    /// Announces to the sources the bytes of theirs in the ranges.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        guard let layout = self.contents.layout else { return }
        var wanted: [Int: [Range<Int64>]] = [:]
        for range in ranges where !range.isEmpty {
            var index = max(0, layout.starts.partitioningIndex { $0 > range.lowerBound } - 1)
            while index < self.contents.entries.count, layout.starts[index] < range.upperBound {
                let entry = self.contents.entries[index]
                let start = layout.starts[index] + Int64(entry.header.count)
                let bytes = entry.sourceRange(of: range.lowerBound - start..<range.upperBound - start)
                if !bytes.isEmpty, entry.source.traits.contains(.preparable) {
                    wanted[index, default: []].append(bytes)
                }
                index += 1
            }
        }
        for (index, ranges) in wanted.sorted(by: { $0.key < $1.key }) {
            self.contents.entries[index].source.prepare(ranges, context)
        }
    }
}

/// Some consecutive entries of a zip.
private struct EntryGroup: BlobInputStreamDataSource {
    let contents: ZipContents
    let range: Range<Int>
    let traits: BlobTraits
    let isRandomAccess: Bool

    var info: BlobInfo {
        BlobInfo(
            byteCount: self.contents.layout.map { $0.starts[self.range.upperBound] - $0.starts[self.range.lowerBound] },
            isRandomAccess: self.isRandomAccess)
    }

    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let first = MemorySource(self.contents.entries[self.range.lowerBound].header)
        let parts = self.range.reduce(into: [first] as [any BlobInputStreamDataSource]) { parts, index in
            let entry = self.contents.entries[index]
            if entry.byteCount != 0 || entry.checksum == nil {
                parts.append(EntryBytes(contents: self.contents, index: index))
            }
            let next = index + 1 < self.range.upperBound ? self.contents.entries[index + 1].header : []
            if entry.checksum == nil {
                parts.append(EntryDescriptor(contents: self.contents, index: index, nextHeader: next))
            } else if !next.isEmpty {
                parts.append(MemorySource(next))
            }
        }
        // Does not block, because these parts know their infos.
        return .joined(try parts.map { ($0, try $0.info()) }, self.info)
    }
}

/// The bytes of an entry as they are stored.
private struct EntryBytes: BlobInputStreamDataSource {
    let contents: ZipContents
    let index: Int

    /// The number of following entries that are announced, and their maximum length in bytes. Longer entries are not
    /// announced, because the bytes might never be read.
    private static let (aheadCount, aheadByteCount) = (8, Int64(1 << 20))

    private var entry: PlannedEntry { self.contents.entries[self.index] }

    var traits: BlobTraits { self.entry.source.traits }

    private func prepareNext(_ context: BlobContext) {
        for entry in self.contents.entries[(self.index + 1)...].prefix(Self.aheadCount)
        where entry.source.traits.contains(.preparable) && entry.byteCount ?? .max <= Self.aheadByteCount {
            entry.source.prepare([0..<(entry.byteCount ?? 0)], context)
        }
    }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(
            byteCount: self.entry.byteCount.map(self.entry.storedByteCount), validator: self.entry.validator,
            isRandomAccess: self.entry.isRandomAccess)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        self.prepareNext(opening.context)
        guard self.entry.checksum == nil else {
            let base = try self.open(at: opening.byteOffset, opening)
            let pass = opening.byteOffset == 0 ? EntryPass(self.contents, self.index, at: 0) : nil
            return .inspected(base, StoredBytes(pass: pass), startingAt: opening.byteOffset)
        }
        // The end of the bytes is in the last block.
        let last = self.entry.byteCount.map { self.entry.storedByteCount($0) - 1 } ?? .max
        let start = StoredBlocks.start(of: min(opening.byteOffset, last))
        let pass = EntryPass(self.contents, self.index, at: start.bytes)
        return .transform(
            try self.open(at: start.bytes, opening), StoredBlocks(self.entry.byteCount, pass), startingAt: start.blocks)
    }

    private func open(at byteOffset: Int64, _ opening: BlobOpening) throws -> BlobReader {
        do {
            return try self.entry.source.open(
                at: byteOffset, matching: self.entry.validator, context: opening.context)
        } catch {
            throw error.replacingMessage("Entry '\(self.entry.entry.label)': \(error.message)")
        }
    }
}

/// Compares the bytes of an entry with the checksum that it states.
private struct StoredBytes: BlobInspector {
    /// Nil if the first bytes do not pass.
    let pass: EntryPass?

    func info(of base: BlobInfo) throws -> BlobInfo {
        try self.pass?.check(base)
        return base
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        bytes.withUnsafeBytes { self.pass?.update($0) }
        if isLast { try self.pass?.finish() }
        return 0..<bytes.byteCount
    }
}

/// The record with the checksum after the bytes of an entry, and the header of the next: few short pieces are faster.
private struct EntryDescriptor: BlobInputStreamDataSource {
    let contents: ZipContents
    let index: Int
    let nextHeader: [UInt8]

    private var entry: PlannedEntry { self.contents.entries[self.index] }

    var traits: BlobTraits { self.entry.source.traits }

    func describe(_ context: BlobContext) -> BlobInfo {
        let byteCount = self.entry.byteCount.map { self.entry.descriptorByteCount($0) + Int64(self.nextHeader.count) }
        return BlobInfo(byteCount: byteCount, isRandomAccess: true)
    }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        let stream = RecordStream(self.contents, self.describe(opening.context), self.traits, opening) {
            byteOffset, output in
            guard let content = self.contents.content(of: self.index) else { return self.index }
            let record = self.entry.descriptor(content) + self.nextHeader
            output.append(contentsOf: record.dropFirst(Int(byteOffset)))
            return nil
        }
        return .stream(stream, startingAt: opening.byteOffset)
    }
}

/// The central directory and the end of a zip.
private struct ZipDirectory: BlobInputStreamDataSource {
    let contents: ZipContents
    let traits: BlobTraits

    var info: BlobInfo {
        BlobInfo(byteCount: self.contents.layout.map { $0.byteCount - $0.records[0] }, isRandomAccess: true)
    }

    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        let stream = RecordStream(self.contents, self.info, self.traits, opening) { byteOffset, output in
            try self.append(byteOffset, &output)
        }
        return .stream(stream, startingAt: opening.byteOffset)
    }

    /// Appends the records up to the first entry whose content is not known, and returns its position.
    private func append(_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Int? {
        if let missing = self.contents.firstWithoutLength { return missing }
        let layout = try self.contents.completeLayout()
        var position = layout.records[0] + byteOffset
        var index = layout.records.partitioningIndex { $0 > position } - 1
        while output.freeCapacity > 0, index < self.contents.entries.count {
            guard let content = self.contents.content(of: index) else { return index }
            let record = self.contents.entries[index].directoryRecord(content, at: layout.starts[index])
            position += Int64(output.append(contentsOf: record.dropFirst(Int(position - layout.records[index]))))
            index += 1
        }
        guard output.freeCapacity > 0 else { return nil }
        output.append(contentsOf: layout.end.dropFirst(Int(position - layout.records[layout.records.count - 1])))
        self.contents.save()
        return nil
    }
}
