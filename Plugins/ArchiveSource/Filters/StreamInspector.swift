internal import BlobBlocks
import BlobCore

/// An inspector of compressed bytes before libarchive receives them, which rejects too large a window in any part of
/// the stream.
///
/// All bytes must pass through it.
protocol StreamInspector: BlobInspector, Sendable {
    /// Inspects the next bytes of the stream.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if a window is too large.
    mutating func inspect(_ bytes: UnsafeRawBufferPointer) throws(BlobError)
}

extension StreamInspector {
    func info(of base: BlobInfo) -> BlobInfo { base.inOrder }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        try bytes.withUnsafeBytes { try self.inspect($0) }
        return 0..<bytes.byteCount
    }
}

/// A source whose bytes are inspected as they are read, from the first byte on.
struct InspectedSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource
    let inspector: any StreamInspector

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.info(context).inOrder }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(matching: opening.validator, context: opening.context)
        return .inspected(base, self.inspector, startingAt: 0)
    }
}

/// An inspector of the blocks of an xz (The .xz File Format, 2 and 3), each of which has its own window.
///
/// Decodes nothing, because LZMA2 chunks declare their lengths.
struct XzInspector: StreamInspector {
    private enum Element {
        case streamHeader, blockBeginning, blockHeader, chunk, chunkLengths, indexNumber, padding
        /// Not xz data, or malformed xz data, which libarchive does not decode either.
        case unsupportedData
    }

    private var element = Element.streamHeader
    private var collectedBytes: [UInt8] = []
    private var neededByteCount = 12
    /// The number of bytes to skip before more are collected.
    private var byteCountToSkip = 0
    private var checkByteCount = 0
    /// The number of bytes of the block or the index that were inspected.
    private var byteCount = 0
    /// The number being read from the index, and the count of the remaining numbers; nil while the count itself is
    /// being read.
    private var number: (value: UInt64, shift: UInt64) = (0, 0)
    private var remainingNumberCount: UInt64?
    private let context: BlobContext
    private let checks: StreamChecks?

    /// - Parameter checks: Receives the kind of check of each stream.
    init(_ context: BlobContext, _ checks: StreamChecks? = nil) { (self.context, self.checks) = (context, checks) }

    mutating func inspect(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        var rest = bytes[...]
        while !rest.isEmpty, self.element != .unsupportedData {
            let skipped = min(self.byteCountToSkip, rest.count)
            self.byteCountToSkip -= skipped
            rest = rest.dropFirst(skipped)
            let taken = rest.prefix(self.neededByteCount - self.collectedBytes.count)
            self.collectedBytes.append(contentsOf: taken)
            rest = rest.dropFirst(taken.count)
            guard self.collectedBytes.count == self.neededByteCount else { continue }
            let part = self.collectedBytes
            self.collectedBytes.removeAll(keepingCapacity: true)
            try self.parse(part)
        }
    }

    private mutating func expect(_ element: Element, _ neededByteCount: Int, after byteCountToSkip: Int = 0) {
        (self.element, self.neededByteCount, self.byteCountToSkip) = (element, neededByteCount, byteCountToSkip)
    }

    private mutating func parse(_ bytes: [UInt8]) throws(BlobError) {
        switch self.element {
        case .streamHeader:
            guard bytes.starts(with: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0]) else { return self.element = .unsupportedData }
            // 2.1.1.2: the kinds of checks; unassigned kinds have lengths, too.
            let kind = Int(bytes[7] & 0x0F)
            self.checkByteCount = kind == 0 ? 0 : 4 << ((kind - 1) / 3)
            self.checks?.insert(xzCheckName(kind))
            self.expect(.blockBeginning, 1)
        case .blockBeginning:
            // 3.1.1: the length of the block header; 0 marks the index.
            self.byteCount = bytes[0] == 0 ? 1 : 0
            (self.number, self.remainingNumberCount) = ((0, 0), nil)
            if bytes[0] == 0 { return self.expect(.indexNumber, 1) }
            self.expect(.blockHeader, (Int(bytes[0]) + 1) * 4 - 1)
        case .blockHeader:
            guard let window = CompressionFormat.xzWindow(bytes[...]) else { return self.element = .unsupportedData }
            try CompressionFormat.xz.check(windowByteCount: window, self.context)
            self.expect(.chunk, 1)
        case .chunk: self.parseChunk(bytes[0])
        case .chunkLengths:
            // A compressed chunk has two lengths, the second of which is the packed length, and perhaps properties.
            let place = bytes.count == 2 ? 0 : 2
            let count = Int(bytes[place]) << 8 | Int(bytes[place + 1]) + 1
            self.byteCount += bytes.count + count
            self.expect(.chunk, 1, after: count)
        case .indexNumber: self.parseIndexNumber(bytes[0])
        case .padding:
            // 2.2: groups of four zeros, then the next stream.
            if bytes == [0, 0, 0, 0] { return }
            self.expect(.streamHeader, 12)
            self.collectedBytes = bytes
        case .unsupportedData: return
        }
    }

    /// Parses the control byte of an LZMA2 chunk.
    private mutating func parseChunk(_ control: UInt8) {
        self.byteCount += 1
        switch control {
        case 0: self.expect(.blockBeginning, 1, after: -self.byteCount & 3 + self.checkByteCount)
        case 1, 2: self.expect(.chunkLengths, 2)
        case 0x80...: self.expect(.chunkLengths, control >= 0xC0 ? 5 : 4)
        default: self.element = .unsupportedData
        }
    }

    /// Parses a byte of the index (4.3): the number of records, and two numbers for each; then padding, a checksum and
    /// the footer.
    private mutating func parseIndexNumber(_ byte: UInt8) {
        self.byteCount = (self.byteCount + 1) & 3
        guard self.number.shift < 63 else { return self.element = .unsupportedData }
        self.number.value |= UInt64(byte & 0x7F) << self.number.shift
        self.number.shift += 7
        guard byte & 0x80 == 0 else { return }
        let left =
            self.remainingNumberCount.map { $0 - 1 }
            ?? self.number.value.multipliedReportingOverflow(by: 2).partialValue
        (self.number, self.remainingNumberCount) = ((0, 0), left)
        if left == 0 { self.expect(.padding, 4, after: -self.byteCount & 3 + 4 + 12) }
    }
}

/// An inspector of the member headers in an lzip.
///
/// Only decoding shows where a member ends, so headers are found by their form, which is extremely unlikely to occur in
/// the compressed bytes of a member.
struct LzipInspector: StreamInspector {
    private let context: BlobContext
    private static let headerByteCount = 6

    private var lastBytes: [UInt8] = []

    init(_ context: BlobContext) { self.context = context }

    mutating func inspect(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        var seam = self.lastBytes + bytes.prefix(Self.headerByteCount - 1)
        try self.scan(seam.withUnsafeBytes { Self.windows(in: $0) })
        try self.scan(Self.windows(in: bytes))
        seam = bytes.count < Self.headerByteCount ? seam : Array(bytes.suffix(Self.headerByteCount - 1))
        self.lastBytes = seam.suffix(Self.headerByteCount - 1)
    }

    private func scan(_ windows: [UInt64]) throws(BlobError) {
        for window in windows { try CompressionFormat.lzip.check(windowByteCount: window, self.context) }
    }

    /// Returns the window sizes that the headers in the bytes declare (lzip manual, "File format").
    private static func windows(in bytes: UnsafeRawBufferPointer) -> [UInt64] {
        guard bytes.count >= Self.headerByteCount else { return [] }
        var windows: [UInt64] = []
        var place = 0
        while let found = bytes.firstIndex(of: UInt8(ascii: "L"), from: place),
            found <= bytes.count - Self.headerByteCount
        {
            place = found
            let header = bytes[place..<place + Self.headerByteCount]
            if header.starts(with: "LZIP".utf8), header[place + 4] <= 1, 12...29 ~= header[place + 5] & 0x1F {
                windows.append(CompressionFormat.lzipWindow(header[place + 5]))
            }
            place += 1
        }
        return windows
    }
}

/// The checksums declared in the headers of a compressed stream, collected while a decoder that does not report them
/// reads the stream.
final class StreamChecks: Sendable {
    private let names = Locked<Set<String?>>([])

    /// Records the checksum of a stream or frame; nil if the stream or frame has no checksum.
    func insert(_ name: String?) { self.names.withLock { _ = $0.insert(name) } }

    /// The checksums that together cover all bytes; nil if a stream or frame has no checksum.
    var name: String? {
        self.names.withLock {
            $0.isEmpty || $0.contains(nil) ? nil : $0.compactMap(\.self).sorted().joined(separator: ", ")
        }
    }
}

/// An inspector of the frames of Zstandard (RFC 8878, section 3.1) and LZ4 (lz4_Frame_format.md), which records whether
/// they have a checksum.
///
/// Parses only headers, and skips other data by its length.
struct FrameInspector: StreamInspector {
    private enum Element { case frame, block, unsupportedData }

    private let format: CompressionFormat
    private let checks: StreamChecks
    private var element = Element.frame
    private var collectedBytes: [UInt8] = []
    /// The number of bytes to skip before more are collected.
    private var byteCountToSkip: UInt64 = 0
    /// The number of bytes to skip after each block, and after the last block.
    private var (blockSumByteCount, endByteCount): (UInt64, UInt64) = (0, 0)

    init(_ format: CompressionFormat, _ checks: StreamChecks) { (self.format, self.checks) = (format, checks) }

    mutating func inspect(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty, self.element != .unsupportedData {
            let skipped = min(self.byteCountToSkip, UInt64(rest.count))
            self.byteCountToSkip -= skipped
            rest = rest.dropFirst(Int(skipped))
            guard let byte = rest.popFirst() else { return }
            self.collectedBytes.append(byte)
            let isTaken = self.element == .frame ? self.parseHeader() : self.parseBlock()
            if isTaken { self.collectedBytes.removeAll(keepingCapacity: true) }
        }
    }

    /// Parses the header of a frame once it is complete; returns false before that.
    private mutating func parseHeader() -> Bool {
        guard self.collectedBytes.count >= 5 else { return false }
        let magic = self.collectedBytes[..<4].littleEndian
        if ZstdFrame.isSkippable(magic) {
            guard self.collectedBytes.count == 8 else { return false }
            self.byteCountToSkip = self.collectedBytes[4...].littleEndian
            return true
        }
        let flags = self.collectedBytes[4]
        switch (self.format, magic) {
        case (.zstd, ZstdFrame.magic):
            guard let frame = ZstdFrame(self.collectedBytes[...]) else { return false }
            (self.blockSumByteCount, self.endByteCount) = (0, frame.hasChecksum ? 4 : 0)
            self.checks.insert(frame.hasChecksum ? ZstdFrame.checksumName : nil)
        case (.lz4, 0x184D_2204):
            guard self.collectedBytes.count >= 7 + (flags & 8 != 0 ? 8 : 0) + (flags & 1 != 0 ? 4 : 0) else {
                return false
            }
            (self.blockSumByteCount, self.endByteCount) = (flags & 0x10 != 0 ? 4 : 0, flags & 4 != 0 ? 4 : 0)
            self.checks.insert(flags & 0x14 != 0 ? "XXH32" : nil)
        default:
            // A legacy frame of LZ4 has no checksum; zeros may follow the last frame.
            if magic != 0 { self.checks.insert(nil) }
            self.element = .unsupportedData
            return true
        }
        self.element = .block
        return true
    }

    /// Parses the header of a block once it is complete; returns false before that.
    private mutating func parseBlock() -> Bool {
        guard self.collectedBytes.count == (self.format == .zstd ? 3 : 4) else { return false }
        let header = self.collectedBytes.littleEndian
        let isLast = self.format == .zstd ? header & 1 == 1 : header == 0
        let length =
            switch self.format {
            case .zstd: header >> 1 & 3 == 1 ? 1 : header >> 3
            default: header & 0x7FFF_FFFF
            }
        self.byteCountToSkip = isLast && self.format == .lz4 ? 0 : length + self.blockSumByteCount
        guard isLast else { return true }
        self.byteCountToSkip += self.endByteCount
        self.element = .frame
        return true
    }
}

extension CompressionFormat {
    /// Returns an inspector of the compressed bytes, which checks the windows of later streams and records checksums;
    /// nil if the format needs no inspector.
    ///
    /// - Parameter checks: The receiver of the checksums; nil to ignore them.
    func inspector(_ checks: StreamChecks?, _ context: BlobContext) -> (any StreamInspector)? {
        // The headers of the other formats name their checksum, if they have one.
        if self == .bzip2 || self == .lzip { checks?.insert("CRC-32") }
        return switch self {
        case .xz: XzInspector(context, checks)
        case .lzip: LzipInspector(context)
        // libarchive enforces the window limits itself.
        case .zstd, .lz4: checks.map { FrameInspector(self, $0) }
        case .bzip2, .lzma, .compress: nil
        }
    }
}
