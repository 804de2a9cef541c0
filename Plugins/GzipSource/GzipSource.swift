import BlobInflate
import BlobStreams
import Foundation

/// What another source holds compressed, decoded: gzip, zlib or raw deflate.
///
/// The end means that every byte arrived and that every checksum and length that the format carries was right; raw
/// deflate carries none. All members of a gzip are read, one after the other, and zero bytes may follow the last;
/// anything else behind the end is ``BlobError/Code/trailingData``, thrown after the last good byte.
///
/// Memory does not grow with the blob: a reader has a buffer for compressed bytes and the decoder's window, and decodes
/// straight into the caller's memory. Over an event-driven base the readers are event-driven too.
///
/// At an offset, the bytes before it are decoded and dropped, unless there is an index: then decoding begins at most a
/// mebibyte or a block of the deflate data before it, the length is known, and what is delivered is verified in segments
/// of 64 KiB. An index is used, and left behind by the first reading of the whole, as ``BlobIndexPolicy`` says; it needs
/// a base with random access. A reading of the whole delivers nothing that rests on the index; a range is verified by the
/// checksums that the index has of it. With an index, and in blocked gzip (BGZF), several threads decode, some mebibytes
/// ahead of the reader. The lengths that blocks give of themselves are never believed without decoding.
///
/// The errors of decoding are ``BlobError/Code/corrupted``, ``BlobError/Code/truncated``,
/// ``BlobError/Code/checksumMismatch``, ``BlobError/Code/sizeMismatch``, ``BlobError/Code/trailingData``,
/// ``BlobError/Code/unsupported`` and ``BlobError/Code/limitExceeded``. Their locator is the base's, and their byte
/// offset that in the compressed bytes.
public struct GzipSource: BlobLayer {
    /// What is around the deflate data.
    public enum Format: String, Sendable, CaseIterable {
        /// RFC 1952: members with a header, CRC-32 and length each.
        case gzip
        /// RFC 1950: a header of two bytes and an Adler-32. What HTTP calls `deflate`.
        case zlib
        /// RFC 1951: nothing, so that a damaged byte may go unnoticed.
        case deflate
    }

    /// The source of the compressed bytes.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let format: Format
    private let library: InflateLibrary
    private let tuning: GzipTuning
    private let holder: IndexHolder
    private let members: MemberStarts

    /// Creates a source of what `base` holds compressed.
    ///
    /// - Parameter index: Where its index is kept.
    public init(_ base: any BlobInputStreamDataSource, format: Format = .gzip, index: BlobIndexPolicy = .none) {
        self.init(base, format: format, index: index, library: .isal)
    }

    /// - Parameters:
    ///   - library: What decodes.
    ///   - tuning: The sizes by which an index is made and used.
    init(
        _ base: any BlobInputStreamDataSource, format: Format, index: BlobIndexPolicy, library: InflateLibrary,
        tuning: GzipTuning = .standard
    ) {
        self.base = base
        self.format = format
        self.library = library
        self.tuning = tuning
        self.holder = IndexHolder(base, format, index, tuning)
        self.members = MemberStarts()
    }

    /// True when the base never blocks, and no index is looked for, which is done in files.
    public var neverBlocks: Bool { self.base.neverBlocks && !self.holder.looksForFile }

    /// Those of the base; random access only with an index, once it was found: by ``info(_:)``, or by reading.
    public var capabilities: BlobCapabilities {
        self.holder.known == nil ? self.base.capabilities.subtracting(.randomAccess) : self.base.capabilities
    }

    /// That of the base inside of one more wrapper.
    ///
    /// Nil for a member of a container: whether the wrapper belongs around the member or around the container is not
    /// for the locator to tell.
    public var locator: BlobLocator? {
        guard let base = self.base.locator, base.selectors.isEmpty else { return nil }
        return try? base.wrapped(in: self.format.rawValue)
    }

    /// What is known without decoding: the name, without the extension of the format, and the validator, which is made
    /// from the base's.
    ///
    /// The length is known from an index only: a gzip says the length of its last member only, and only modulo 2^32.
    public func info(_ context: BlobContext) throws -> BlobInfo {
        let baseInfo = try self.base.checkedInfo(context)
        return self.decoded(baseInfo, try self.holder.index(of: baseInfo, context))
    }

    /// Opens a reader of the base.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try BlobInfo().check(byteOffset: byteOffset, matching: nil)
        // What is read once, from its start, is not looked at before.
        guard self.holder.isOfUse || byteOffset > 0 || validator != nil else {
            return try self.reader(at: 0, matching: nil, context)
        }
        let baseInfo = try self.base.checkedInfo(context)
        let index = try self.holder.index(of: baseInfo, context)
        let info = self.decoded(baseInfo, index)
        try info.check(byteOffset: byteOffset, matching: validator)
        guard let index else { return try self.reader(at: byteOffset, matching: baseInfo.validator, context) }
        let opening = IndexedOpening(
            base: self.base, baseValidator: baseInfo.validator, format: self.format, library: self.library,
            tuning: self.tuning, context: context)
        return IndexedReader(index, opening, info: info, at: byteOffset) {
            try self.reader(at: $0, matching: baseInfo.validator, context, isInstead: true)
        }
    }

    /// Reads without an index, and makes one on the way from the start.
    ///
    /// - Parameter isInstead: Whether one was of no use: then it makes none, and waits for its base.
    private func reader(
        at byteOffset: Int64, matching baseValidator: BlobValidator?, _ context: BlobContext, isInstead: Bool = false
    ) throws -> any BlobReader {
        let start = self.members.last(before: byteOffset, in: baseValidator)
        let base = try self.base.open(at: start.bitOffset / 8, matching: baseValidator, context: context)
        let recording =
            !isInstead && byteOffset == 0 ? try self.holder.recording(isRequired: false, context) : nil
        let reader = GzipReader(
            base, waits: isInstead, self.format, library: self.library, at: start, locator: self.base.locator,
            recording: recording, context: context, found: { self.members.append($0, in: baseValidator) },
            info: { self.decoded($0, nil) })
        return SkippingReader(reader, bytesToSkip: byteOffset - start.byteOffset, from: start.byteOffset)
    }

    /// What the info of the base says of the decoded bytes.
    private func decoded(_ base: BlobInfo, _ index: GzipIndex?) -> BlobInfo {
        BlobInfo(
            byteCount: index?.layout.byteCount, name: base.name.map(self.format.decodedName),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) })
    }
}

extension GzipSource: BlobIndexing {
    /// Decodes everything once, unless there is an index; see ``BlobIndexing``.
    ///
    /// The policy is the one that the source was made with.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        let baseInfo = try self.base.checkedInfo(context)
        if try self.holder.index(of: baseInfo, context)?.isWhole() == true { return true }
        guard let recording = try self.holder.recording(isRequired: true, context) else { return false }
        let base = try self.base.open(context: context)
        let reader = GzipReader(
            base, waits: true, self.format, library: self.library, at: .start, locator: self.base.locator,
            recording: recording, context: context, info: { self.decoded($0, nil) })
        defer { reader.close() }
        var reported: Int64 = 0
        try reader.drain {
            context.eventSink?(.bytes(Int(base.byteOffset - reported)))
            reported = base.byteOffset
        }
        return try self.info(context).byteCount != nil
    }
}

extension GzipSource: BlobDescribing {
    /// Of a gzip: the name and the time that its first header gives; with an index, what that knows.
    public func facts(_ context: BlobContext) throws -> [BlobFact] {
        var facts: [BlobFact] = []
        if self.format == .gzip {
            let reader = try self.base.open(context: context)
            defer { reader.close() }
            var header = GzipHeader(keepsName: true)
            while let byte = try reader.bytes(atMost: 1).first, try !header.take(byte) {}
            if !header.name.isEmpty { facts.append(BlobFact("original name", .text(latin1(header.name)))) }
            if header.time > 0 {
                facts.append(
                    BlobFact("original time", .date(Date(timeIntervalSince1970: TimeInterval(header.time)))))
            }
        }
        let baseInfo = try self.base.checkedInfo(context)
        guard let layout = try self.holder.index(of: baseInfo, context)?.layout else { return facts }
        facts.append(BlobFact("members", .integer(Int64(layout.memberCount))))
        facts.append(BlobFact("compressed size in bytes", .integer(layout.compressedByteCount)))
        facts.append(BlobFact("restart points", .integer(Int64(layout.points.count))))
        facts.append(BlobFact("largest restart point spacing in bytes", .integer(layout.maximumSliceByteCount)))
        return facts
    }
}

/// RFC 1952, section 2.3: names are ISO 8859-1. Most are UTF-8 today.
private func latin1(_ bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
