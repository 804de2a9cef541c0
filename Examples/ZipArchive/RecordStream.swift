import BlobCore

/// Records of a zip, each of which may need the checksum of an entry: the source of an entry whose checksum is not known
/// is read first.
final class RecordStream: BlobByteStream {
    /// Appends the next records from an offset. Returns the position of the entry whose content they need, or nil.
    typealias Append = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Int?

    private static let windowByteCount = 256 << 10

    let knownInfo: BlobInfo
    let neverBlocks: Bool
    private let contents: ZipContents
    private let context: BlobContext
    private let append: Append
    /// The source that is being read, from its first bytes that have not passed yet, up to an offset.
    private var current: (index: Int, reader: BlobReader, pass: EntryPass, end: Int64)?
    private lazy var window = Window(Self.windowByteCount)

    init(
        _ contents: ZipContents, _ info: BlobInfo, _ traits: BlobTraits, _ opening: BlobOpening,
        _ append: @escaping Append
    ) {
        (self.contents, self.knownInfo, self.context, self.append) = (contents, info, opening.context, append)
        self.neverBlocks = traits.contains(.neverBlocks)
    }

    var info: BlobInfo? { self.knownInfo }
    var readiness: BlobWakerSlot? { self.current?.reader.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        while true {
            let missing = try self.append(byteOffset, &output)
            guard output.byteCount == start else { return .bytes }
            guard let missing else { return .end }
            while self.contents.content(of: missing) == nil {
                guard try self.readOn(missing) else { return .notYet }
            }
        }
    }

    func close() { self.current?.reader.close() }

    /// Reads more of the source of an entry; returns false if none of it is there.
    private func readOn(_ index: Int) throws -> Bool {
        let entry = self.contents.entries[index]
        // Another reader may have read the rest of the source.
        if self.current?.index != index {
            self.current?.reader.close()
            let gap = self.contents.firstGap(of: index)
            let reader = try entry.source.open(at: gap.lowerBound, matching: entry.validator, context: self.context)
            let pass = EntryPass(self.contents, index, at: gap.lowerBound)
            self.current = (index, reader, pass, gap.upperBound)
        }
        guard let (_, reader, pass, end) = self.current else { return false }
        // To the end of the source, where it makes its own checks, or to the next bytes that have passed.
        let rest = end == entry.byteCount ?? .max ? .max : end - pass.byteOffset
        let result = try rest == 0 ? .end : self.window.fill { try reader.read(into: &$0, atMost: Int(clamping: rest)) }
        guard result == .end else {
            guard result == .bytes else { return false }
            pass.update(self.window.bytes)
            return true
        }
        if rest == 0 { pass.endBlock() } else { try pass.finish() }
        reader.close()
        self.current = nil
        return true
    }
}
