import BlobCore
import BlobDeflate
import BlobIndex
import BlobPlatform

/// The entries of a zip, and what is known of their bytes: found in a table of a container, in an index, or computed
/// when the bytes pass.
final class ZipContents: Sendable {
    /// The maximum number of separate runs of an entry whose checksums are kept.
    private static let maximumRunCount = 1024

    let entries: [PlannedEntry]
    let comment: [UInt8]
    /// The identity of the zip; nil if a source has none.
    let validator: BlobValidator?
    /// The places in the zip; nil if the length of a source is unknown.
    let layout: ZipLayout?
    private let index: ChecksumIndex?
    private let state: Locked<State>

    private struct State {
        var known: [EntryContent?]
        /// The runs of entries that were not read as a whole, in order, without overlaps.
        var runs: [Int: [CheckedRun]] = [:]
        /// The number of bytes whose checksums the index does not have.
        var unsavedByteCount: Int64 = 0
        /// The layout, once the lengths are known.
        var layout: ZipLayout?
    }

    init(
        _ entries: [PlannedEntry], comment: [UInt8], validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) {
        (self.entries, self.comment, self.validator) = (entries, comment, validator)
        let byteCounts = entries.compactMap(\.byteCount)
        self.layout =
            byteCounts.count == entries.count ? try ZipLayout(entries, byteCounts, comment: comment) : nil
        var known = entries.map { entry in
            entry.byteCount.flatMap { byteCount in
                entry.checksum.map { EntryContent(byteCount: byteCount, checksum: $0) }
            }
        }
        let isComplete = !known.contains(nil)
        self.index = isComplete ? nil : validator.flatMap { ChecksumIndex(context.index, of: $0) }
        if let index, let stored = try index.load(known.count) {
            for (position, content) in stored
            where entries[position].byteCount ?? content.byteCount == content.byteCount {
                known[position] = known[position] ?? content
            }
        }
        self.state = Locked(State(known: known, layout: self.layout))
    }

    deinit { self.save() }

    /// Returns the content of an entry; nil if its bytes have not all passed yet.
    func content(of index: Int) -> EntryContent? { self.state.withLock { $0.known[index] } }

    /// The first entry whose length is not known yet; nil if all are.
    var firstWithoutLength: Int? {
        self.state.withLock { $0.layout == nil ? $0.known.firstIndex(of: nil) : nil }
    }

    /// Returns the first bytes of an entry that have not passed yet.
    func firstGap(of index: Int) -> Range<Int64> {
        let runs = self.state.withLock { $0.runs[index] } ?? []
        let end = self.entries[index].byteCount ?? .max
        guard let first = runs.first, first.range.lowerBound == 0 else {
            return 0..<(runs.first?.range.lowerBound ?? end)
        }
        return first.range.upperBound..<(runs.dropFirst().first?.range.lowerBound ?? end)
    }

    /// Sets the content that a pass over all bytes of an entry has found.
    ///
    /// - Throws: ``BlobError/Code/changed`` if another pass has found other bytes. Neither is then believed.
    func set(_ content: EntryContent, of index: Int) throws(BlobError) {
        if let stated = self.entries[index].checksum, stated != content.checksum {
            throw BlobError(
                .checksumMismatch,
                "The CRC-32 of the entry '\(self.entries[index].entry.label)' is "
                    + "\(Self.text(content.checksum)), but \(Self.text(stated)) was stated.", operation: "read")
        }
        let (isSame, mustSave) = self.state.withLock { state in
            let known = state.known[index]
            state.runs[index] = nil
            guard known ?? content == content else {
                (state.known[index], state.unsavedByteCount) = (nil, ChecksumIndex.saveInterval)
                return (false, true)
            }
            state.known[index] = content
            if known == nil { state.unsavedByteCount += content.byteCount + 1 }
            return (true, state.unsavedByteCount >= ChecksumIndex.saveInterval)
        }
        if mustSave { self.save() }
        guard isSame else { throw self.changedError(index, "does not have the bytes that were read before") }
    }

    /// Adds a run of an entry that was not read as a whole.
    func add(_ run: CheckedRun, to index: Int) {
        let entry = self.entries[index]
        // Without an identity, the runs of two passes could belong to different contents.
        guard entry.validator != nil, let byteCount = entry.byteCount else { return }
        let whole = self.state.withLock { state -> EntryContent? in
            guard state.known[index] == nil else { return nil }
            var joined: [CheckedRun] = []
            let sorted = ((state.runs[index] ?? []) + [run]).sorted { $0.range.lowerBound < $1.range.lowerBound }
            for run in sorted where joined.isEmpty || !joined[joined.count - 1].append(run) {
                // Of overlapping runs that cannot be joined, the first is kept.
                if joined.last?.range.upperBound ?? 0 <= run.range.lowerBound { joined.append(run) }
            }
            // Bytes of further runs are read again if their checksum is needed.
            guard joined.count <= Self.maximumRunCount else { return nil }
            state.runs[index] = joined
            guard joined.first?.range == 0..<byteCount, let sum = joined.first?.sum else { return nil }
            return EntryContent(byteCount: byteCount, checksum: sum.value)
        }
        // Cannot fail, because nothing else is known.
        if let whole { try? self.set(whole, of: index) }
    }

    /// Returns the layout, for which all lengths must be known.
    func completeLayout() throws(BlobError) -> ZipLayout {
        if let layout = self.state.withLock({ $0.layout }) { return layout }
        let byteCounts = self.state.withLock { $0.known.compactMap { $0?.byteCount } }
        let layout = try ZipLayout(self.entries, byteCounts, comment: self.comment)
        self.state.withLock { $0.layout = layout }
        return layout
    }

    /// Saves the checksums that were computed, if there is an index for them.
    func save() {
        guard let index else { return }
        let known = self.state.withLock { state -> [EntryContent?]? in
            guard state.unsavedByteCount > 0 else { return nil }
            state.unsavedByteCount = 0
            return state.known
        }
        if let known { index.save(known) }
    }

    func changedError(_ index: Int, _ fact: String) -> BlobError {
        BlobError(
            .changed, "The source of the entry '\(self.entries[index].entry.label)' \(fact).", operation: "read",
            locator: self.entries[index].source.locator?.description)
    }

    private static func text(_ checksum: UInt32) -> String {
        withUnsafeBytes(of: checksum.bigEndian) { Array($0).hexadecimal }
    }
}

/// The checksums of the entries of one zip, in an index file.
///
/// They do not change the bytes of the zip: with them, a range can be read without reading the sources first.
private struct ChecksumIndex {
    /// The number of bytes after which new checksums are saved: what is read again after a kill.
    static let saveInterval: Int64 = 256 << 20

    private static let key = IndexSection.Key(layer: "zip", kind: IndexSection.Kind("CRCS"))
    private static let recordByteCount = 13

    private let file: IndexFile
    private let content: IndexedContent

    init?(_ policy: BlobIndexPolicy, of validator: BlobValidator) {
        guard let locator = try? BlobLocator("composed:\(validator.token)"),
            let file = IndexFile(policy, for: locator)
        else { return nil }
        self.file = file
        self.content = IndexedContent(byteCount: 0, validator: validator.text, edgeChecksum: 0)
    }

    /// Returns the contents that were saved, by the position of the entry.
    func load(_ count: Int) throws(BlobError) -> [(Int, EntryContent)]? {
        let byteCount = count * Self.recordByteCount
        return try self.file.load(Self.key, for: self.content, atMost: Int64(byteCount)) { bytes in
            guard bytes.count == byteCount else { return nil }
            return (0..<count).compactMap { position in
                let record = bytes[(position * Self.recordByteCount)...].prefix(Self.recordByteCount)
                guard record.first == 1 else { return nil }
                let number = { (part: ArraySlice<UInt8>) in part.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
                return (
                    position,
                    EntryContent(
                        byteCount: Int64(truncatingIfNeeded: number(record.dropFirst(5))),
                        checksum: UInt32(number(record.dropFirst().prefix(4))))
                )
            }
        }
    }

    func save(_ contents: [EntryContent?]) {
        var record = ZipRecord()
        for content in contents {
            record.bytes.append(content == nil ? 0 : 1)
            record.append(Int64(content?.checksum ?? 0))
            record.append64(content?.byteCount ?? 0)
        }
        // A cache: without it, the next process reads the sources again.
        try? self.file.write([NewIndexSection(Self.key, bytes: record.bytes)], for: self.content)
    }
}
