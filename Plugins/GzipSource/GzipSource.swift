public import BlobCore
package import BlobDeflate
package import BlobIndex
import BlobPlatform

/// A source that decodes the compressed bytes of another source: gzip, zlib or raw deflate.
///
/// ```swift
/// let decoded = GzipSource(FileSource(path: "log.gz"), index: .automatic)
/// let part = try await decoded.slice(1_000_000..<1_001_000).data(upTo: 1_000)
/// ```
///
/// Reaching the end means that every byte has arrived and that every checksum and length in the format was correct; raw
/// deflate has neither. All members of a gzip stream are read in order, and zero bytes may follow the last member.
/// Other data after the end throws ``BlobError/Code/trailingData`` after the last valid byte.
///
/// Memory use does not grow with the blob: a reader has a buffer for compressed bytes and the decoder's window, and
/// decodes directly into the caller's memory if it has room for 4 KiB. Readers over an event-driven base are
/// event-driven too.
///
/// Without an index, a reader at an offset decodes and discards the bytes before it, beginning at the start or, in
/// blocked gzip (BGZF), at a block that an earlier reader has reached. With an index, decoding begins at most a
/// mebibyte or one deflate block before the offset, the length is known, and the delivered bytes are verified in
/// segments of 64 KiB. ``BlobIndexPolicy`` determines whether an index is used, and whether the first read of the whole
/// blob writes one. An index requires a base with random access. The bytes of a read from start to end never depend on
/// the index, but an index with another length ends the read with ``BlobError/Code/changed``. A range is verified by
/// the checksums in the index. With an index, and in blocked gzip, several threads decode a few mebibytes ahead of the
/// reader. The lengths in block headers and the indexes of other tools are never trusted without decoding everything
/// that they describe; the article IndexFiles in the documentation explains the rules.
///
/// Decoding errors are ``BlobError/Code/corrupted``, ``BlobError/Code/truncated``, ``BlobError/Code/checksumMismatch``,
/// ``BlobError/Code/sizeMismatch``, ``BlobError/Code/trailingData``, ``BlobError/Code/unsupported`` and
/// ``BlobError/Code/limitExceeded``. They contain the base's locator, and their byte offset counts compressed bytes.
public struct GzipSource: BlobLayer {
    /// The format around the deflate data.
    public enum Format: String, Sendable, CaseIterable {
        /// RFC 1952: members, each with a header, a CRC-32 and a length.
        case gzip
        /// RFC 1950: a header of two bytes and an Adler-32. HTTP calls it `deflate`.
        case zlib
        /// RFC 1951: no header and no checksum, so that a damaged byte may go unnoticed.
        case deflate

        /// The checksum in the format's trailers; nil if the format has no checksum.
        fileprivate var checksumName: String? {
            switch self {
            case .gzip: "CRC-32"
            case .zlib: "Adler-32"
            case .deflate: nil
            }
        }

        /// The file name extensions of this format, in lower case and without the dot.
        ///
        /// `pigz -z` writes `zz`; RFC 6713 registers `gz`.
        var fileExtensions: [String] {
            switch self {
            case .gzip: ["gz"]
            case .zlib: ["zlib", "zz"]
            case .deflate: ["deflate"]
            }
        }

        /// Returns the name of the decoded content: `a.txt` for `a.txt.gz`, `a.tar` for `a.tgz`, otherwise unchanged.
        func decodedName(_ name: String) -> String {
            let lowercased = name.lowercased()
            if self == .gzip, lowercased.hasSuffix(".tgz"), name.count > 4 { return String(name.dropLast(3)) + "tar" }
            let suffix = self.fileExtensions.map { ".\($0)" }.first { lowercased.hasSuffix($0) }
            guard let suffix, name.count > suffix.count else { return name }
            return String(name.dropLast(suffix.count))
        }
    }

    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    let base: any BlobInputStreamDataSource
    let format: Format
    let library: InflateLibrary
    let tuning: GzipTuning
    let holder: IndexCache<GzipIndex>
    private let reachedPoints = CachedFacts<ReachedPoints>()
    /// The ranges that were last announced.
    private let announcedRanges = Locked<[Range<Int64>]>([])

    /// The minimum number of compressed bytes for which an index is worth its space, about ten milliseconds of
    /// decoding.
    private static let worthwhileByteCount: Int64 = 4 << 20

    /// Creates a source that decodes `base`.
    ///
    /// - Parameters:
    ///   - base: The source of the compressed bytes.
    ///   - format: The format of the compressed bytes.
    ///   - index: The policy that determines where the index is stored.
    public init(_ base: any BlobInputStreamDataSource, format: Format = .gzip, index: BlobIndexPolicy = .none) {
        self.init(base, format: format, index: index, library: .isal)
    }

    /// - Parameters:
    ///   - library: The library used for decoding.
    ///   - tuning: The sizes for creating and using an index.
    package init(
        _ base: any BlobInputStreamDataSource, format: Format, index: BlobIndexPolicy, library: InflateLibrary,
        tuning: GzipTuning = .standard
    ) {
        self.base = base
        self.format = format
        self.library = library
        self.tuning = tuning
        self.holder = IndexCache(
            base, scheme: format.rawValue, index, worthwhileByteCount: Self.worthwhileByteCount
        ) { file, layer, content throws(BlobError) in
            try GzipIndex.load(file, layer: layer, content: content, tuning: tuning)
        }
    }

    /// The traits of the base, without ``BlobTraits/neverBlocks`` if the source searches for an index file.
    public var traits: BlobTraits {
        self.holder.looksForFile ? self.base.traits.subtracting(.neverBlocks) : self.base.traits
    }

    /// The locator of the base, wrapped in the scheme of the format.
    public var locator: BlobLocator? { try? self.base.locator?.wrapped(in: self.format.rawValue) }

    /// Returns the facts known without decoding: the name without the format's extension, and a validator derived from
    /// the base's validator.
    ///
    /// The length is known only from an index, because the end of a gzip stream contains only the length of the last
    /// member, modulo 2^32.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        let baseInfo = try self.base.info(context)
        return self.decodedInfo(baseInfo, try self.holder.index(of: baseInfo, context))
    }

    /// Limits decoding ahead to the ranges, and passes on the hint for the compressed bytes, whose ranges are known only
    /// from an index.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        self.announcedRanges.withLock { $0 = ranges }
        guard self.base.traits.contains(.preparable), self.holder.isIndexable,
            let points = try? self.restartPoints(context)
        else { return }
        self.base.prepare(ranges.compactMap(points.compressedRange), context)
    }

    /// Opens the base at its start or, with an index or in blocked gzip, at a position before the offset.
    ///
    /// - Throws: The errors of opening the base and of reading the index.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let context = opening.context
        guard self.holder.isIndexable else { return self.body(try self.base.open(context: context), opening) }
        let baseInfo = try self.base.info(context)
        let openBase = { try self.base.open(matching: baseInfo.validator, context: context) }
        if let index = try self.holder.index(of: baseInfo, context) {
            let info = self.decodedInfo(baseInfo, index)
            let stream = IndexedStream(
                index, IndexedOpening(source: self, baseValidator: baseInfo.validator, context: context), info: info,
                at: opening.byteOffset, expecting: self.expectedEnd(from: opening.byteOffset)
            ) { self.body(try openBase(), $0, info: info) }
            return .stream(stream, startingAt: opening.byteOffset)
        }
        let recorder = opening.byteOffset == 0 ? try self.recorder(isRequired: false, context) : nil
        return self.body(try openBase(), opening, recorder)
    }

    /// Returns the end of the announced range that contains an offset; nil if no range contains it.
    private func expectedEnd(from byteOffset: Int64) -> Int64? {
        self.announcedRanges.withLock { $0.first { $0.contains(byteOffset) }?.upperBound }
    }

    /// Returns a body that uses no index, but creates one while it is read from the start.
    ///
    /// - Parameters:
    ///   - base: A reader of the base, positioned at the start.
    ///   - info: The info of the decoded bytes; nil to derive it from the info of the base.
    private func body(
        _ base: BlobReader, _ opening: BlobOpening, _ recorder: PointRecorder? = nil, info: BlobInfo? = nil
    ) -> BlobBody {
        let job = DecodingJob(source: self, recorder: recorder, context: opening.context)
        return .deferred(base) { baseInfo, _ in
            let info = info ?? self.decodedInfo(baseInfo, nil)
            try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
            let reached = self.reachedPoints.facts(of: baseInfo) { ReachedPoints() }
            let start = reached.last(before: opening.byteOffset)
            guard start.byteOffset > 0 else { return try self.body(base, job, at: start, info: info, reached) }
            base.close()
            let base = try self.base.open(
                at: start.compressedByteOffset, matching: baseInfo.validator, context: opening.context)
            return try self.body(base, job, at: start, info: info, reached)
        }
    }

    /// Returns a body that starts at a position between members. Several threads decode blocked gzip.
    private func body(
        _ base: BlobReader, _ job: DecodingJob, at start: RestartPoint, info: BlobInfo, _ reached: ReachedPoints
    ) throws -> BlobBody {
        let makeTransform = {
            BlobBody.transform(base, try GzipDecoder(job, at: start, info: info), startingAt: start.byteOffset)
        }
        guard self.format == .gzip, job.recorder?.isRequired != true else { return try makeTransform() }
        return .deferred(base, peeking: BlockHeader.usualByteCount) { _, beginning in
            guard beginning.withUnsafeBytes({ BlockHeader($0) }) != nil else { return try makeTransform() }
            let stream = BlockedStream(base, job, at: start, info: info) { reached.append($0) }
            return .stream(stream, startingAt: start.byteOffset)
        }
    }

    /// Creates a decoder positioned before the first byte.
    func makeDecoder(_ recorder: PointRecorder? = nil) throws(BlobError) -> FrameDecoder {
        try FrameDecoder(self.format, library: self.library, recorder: recorder)
    }

    /// Reports the completed checks at the end of the decoded bytes.
    func reportEnd(byteCount: Int64, _ context: BlobContext) {
        context.reportEnd(of: self.format.rawValue, byteCount: byteCount, check: self.format.checksumName)
    }

    /// Returns a recorder of an index for a read from the start; nil if no index should be created.
    private func recorder(isRequired: Bool, _ context: BlobContext) throws -> PointRecorder? {
        try self.holder.indexDestination(isRequired: isRequired, context).map { PointRecorder($0, self.tuning) }
    }

    /// Returns the info of the decoded bytes, derived from the info of the base.
    func decodedInfo(_ base: BlobInfo, _ index: GzipIndex?) -> BlobInfo {
        BlobInfo(
            byteCount: index?.layout.byteCount, name: base.name.map(self.format.decodedName),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) },
            isRandomAccess: index != nil && base.isRandomAccess)
    }
}

extension GzipSource: BlobIndexing {
    /// Creates an index by decoding everything once, unless an index exists; see ``BlobIndexing``.
    ///
    /// Uses the index policy with which the source was created.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        let baseInfo = try self.base.info(context)
        if try self.holder.index(of: baseInfo, context)?.isWhole() == true { return true }
        guard let recorder = try self.recorder(isRequired: true, context) else { return false }
        try self.record(recorder, context)
        return try self.describe(context).byteCount != nil
    }

    /// Decodes everything once for a recorder, and reports the number of compressed bytes read.
    private func record(_ recorder: PointRecorder, _ context: BlobContext) throws {
        let base = try self.base.open(context: context)
        defer { base.close() }
        let job = DecodingJob(source: self, recorder: recorder, context: context)
        let pass = DecodingPass(base, isBlocking: true, try job.makeDecoder())
        var reported: Int64 = 0
        let byteCount = try pass.drain(context) {
            context.report(BlobEvent(.bytes, base.byteOffset - reported))
            reported = base.byteOffset
        }
        try job.end(compressedByteCount: pass.compressedByteOffset, byteCount: byteCount)
    }
}

extension GzipSource: ToolIndexImporting {
    package func importIndex(_ index: ToolIndex, _ context: BlobContext) throws -> Bool {
        guard let place = try self.holder.indexDestination(isRequired: true, context) else { return false }
        let comparison = try self.comparison(with: index, place, context)
        if let fault = comparison.faults.first {
            throw BlobError(
                .inconsistent,
                "The \(index.format.rawValue) index does not match the data (faults: \(comparison.faults.count), "
                    + "points: \(index.points.count)). \(fault)")
        }
        return try self.describe(context).byteCount != nil
    }

    /// Decodes everything once, and compares another tool's index with the result.
    ///
    /// - Parameter place: The location for an index if the other tool's index is correct; nil to write none.
    private func comparison(
        with index: ToolIndex, _ place: IndexDestination?, _ context: BlobContext
    ) throws -> ToolIndexComparison {
        let info = try self.base.info(context)
        if let stated = index.compressedByteCount, let byteCount = info.byteCount, stated != byteCount {
            throw BlobError(
                .inconsistent,
                "The \(index.format.rawValue) index is for \(stated) compressed bytes, but the data has \(byteCount).")
        }
        let comparison = ToolIndexComparison(index)
        try self.record(PointRecorder(place, self.tuning, comparison), context)
        return comparison
    }
}

extension GzipSource: IndexVerifying {
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        let baseInfo = try self.base.info(context)
        guard let index = try self.holder.index(of: baseInfo, context) else {
            guard let other = try self.holder.toolIndex() else { return nil }
            for fault in try self.comparison(with: other, nil, context).faults { try report(fault) }
            return other.points.count
        }
        let unindexed = GzipSource(
            self.base, format: self.format, index: .none, library: self.library, tuning: self.tuning)
        let reader = try unindexed.open(matching: self.decodedInfo(baseInfo, nil).validator, context: context)
        defer { reader.close() }
        var verification = IndexVerification(
            index, IndexedOpening(source: self, baseValidator: baseInfo.validator, context: context))
        try verification.run(reader, report: report)
        return index.layout.points.count
    }
}

extension GzipSource: RestartPointListing {
    /// Returns the restart points of the index; nil if there is no index.
    package func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        try self.holder.index(of: self.base.info(context), context)?.layout.points
    }
}

extension GzipSource: BlobDescribing {
    /// Returns the name and the time in the first header of a gzip stream and, with an index, the facts in the index.
    public func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        var facts: [(name: String, value: any Encodable & Sendable)] = []
        if self.format == .gzip {
            let reader = try self.base.open(context: context)
            defer { reader.close() }
            var header = GzipHeader(keepsName: true)
            while let byte = try reader.bytes(atMost: 1).first, try !header.parse(byte) {}
            if !header.name.isEmpty { facts.append(("original name", latin1(header.name))) }
            if header.time > 0 {
                facts.append(
                    ("original time", Date(timeIntervalSince1970: TimeInterval(header.time))))
            }
        }
        let baseInfo = try self.base.info(context)
        guard let layout = try self.holder.index(of: baseInfo, context)?.layout else { return facts }
        facts.append(("members", Int64(layout.memberCount)))
        facts.append(("compressed size in bytes", layout.points.compressedByteCount))
        facts.append(("restart points", Int64(layout.points.count)))
        facts.append(("largest restart point spacing in bytes", layout.maximumSliceByteCount))
        return facts
    }
}

/// Decodes a name as UTF-8, today's usual encoding, or otherwise as ISO 8859-1 (RFC 1952, section 2.3).
private func latin1(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}

extension BlobProvider {
    /// The provider for the `gzip` wrapper, which decodes all members of a gzip stream (RFC 1952).
    public static let gzip = filter(
        .gzip, mediaTypes: ["application/gzip", "application/x-gzip"],
        // The identification of RFC 1952 and its only compression method.
        signatures: [BlobSignature([0x1F, 0x8B, 8])])

    /// The provider for the `zlib` wrapper (RFC 1950).
    ///
    /// The format is recognised only by name and media type, because its two-byte header is not conclusive.
    public static let zlib = filter(.zlib, mediaTypes: ["application/zlib"])

    /// The provider for the `deflate` wrapper, which decodes raw deflate data (RFC 1951).
    public static let deflate = filter(.deflate)

    private static func filter(
        _ format: GzipSource.Format, mediaTypes: [String] = [], signatures: [BlobSignature] = []
    ) -> BlobProvider {
        BlobProvider(
            .filter { base, context in
                let source = GzipSource(base, format: format, index: context.index)
                // With an index, the source has random access, on which outer layers depend. Errors appear when the
                // source is read.
                if context.index != .none { _ = try? source.info(context) }
                return source
            }, schemes: [format.rawValue],
            mediaTypes: mediaTypes, fileExtensions: format.fileExtensions, signatures: signatures)
    }
}
