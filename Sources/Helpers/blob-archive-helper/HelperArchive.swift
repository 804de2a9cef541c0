internal import CArchive
internal import CHelper
internal import HelperExchange

/// An archive that libarchive reads.
final class HelperArchive {
    /// Blocks shorter than this are collected; longer blocks that are stored verbatim in the archive are not copied.
    private static let longByteCount = 64 * 1024

    /// The character sets that LHA headers may declare for names, besides UTF-8 and UTF-16: Windows' code pages of
    /// Japanese, Chinese and Korean, and of Western European languages.
    private static let characterSets = ["CP932", "CP936", "CP949", "CP950", "CP1252"]

    private var archive: OpaquePointer
    private let input: HelperInput
    private let format: String
    /// The number of members so far.
    private var count = 0
    /// True if names without a declared character set are assumed to be Japanese.
    private var isJapanese = false
    /// The offset in the member after the last byte that libarchive returned.
    private var dataEnd: Int64 = 0
    /// The encoded entry after the entries of the last answer; nil in it at the end of the archive.
    private var pendingEntry: Result<[UInt8]?, HelperFailure>?
    /// The block after the bytes of the last answer.
    private var pendingBlock: Result<Block, HelperFailure>?

    /// A block of a member; empty at the member's end.
    private struct Block {
        var bytes: UnsafeRawBufferPointer
        var byteOffset: Int64
    }

    init(_ input: HelperInput, format: String) throws(HelperFailure) {
        self.input = input
        self.format = format
        self.archive = try Self.makeArchive(format)
        try self.open()
    }

    private static func makeArchive(_ format: String) throws(HelperFailure) -> OpaquePointer {
        guard let archive = blob_archive_read_new() else { throw .limit }
        // A warning means that libarchive would start a program instead.
        guard enableFormat(format, in: archive) == ARCHIVE_OK else {
            throw HelperFailure(.unavailable, "libarchive was built without this format")
        }
        return archive
    }

    private func open() throws(HelperFailure) {
        self.input.connect(to: self.archive)
        try self.check(blob_archive_read_open1(self.archive))
    }

    /// Loads the conversions of names, whose files are inaccessible once the helper is confined.
    static func loadConversions() {
        for name in Self.characterSets { blob_load_conversion(name) }
    }

    private func check(_ status: CInt) throws(HelperFailure) {
        if status == ARCHIVE_OK || status == ARCHIVE_EOF { return }
        throw HelperFailure(.library, self.message ?? "")
    }

    private var message: String? { blob_archive_error_string(self.archive).map { String(cString: $0) } }

    /// Advances to the next member, and past further members whose headers need no more input, at most `count` in total;
    /// returns their entries, or the end of the archive.
    func next(atMost count: Int64) throws(HelperFailure) -> ExchangeFrame {
        let requestCount = self.input.requestCount
        guard var payload = try (self.pendingEntry ?? self.nextEncoded()).get() else {
            return ExchangeFrame(.end, a: self.consumedByteCount)
        }
        self.pendingEntry = nil
        var rest = count - 1
        while rest > 0, self.input.requestCount == requestCount {
            let following = self.nextEncoded()
            guard case .success(let entry?) = following,
                payload.count + entry.count <= ExchangeFrame.maximumPayloadByteCount
            else {
                self.pendingEntry = following
                break
            }
            payload += entry
            rest -= 1
        }
        return ExchangeFrame(.entries, payload: payload)
    }

    private func nextEncoded() -> Result<[UInt8]?, HelperFailure> {
        Result { () throws(HelperFailure) in
            guard let entry = try self.next()?.encoded else { return nil }
            guard entry.count <= ExchangeFrame.maximumPayloadByteCount else {
                throw HelperFailure(
                    .limit, "a header is longer than the limit of \(ExchangeFrame.maximumPayloadByteCount) bytes")
            }
            return entry
        }
    }

    /// Advances to the next member; returns nil at the end of the archive.
    private func next() throws(HelperFailure) -> ExchangedEntry? {
        self.pendingBlock = nil
        self.dataEnd = 0
        var entry: OpaquePointer?
        var status = blob_archive_read_next_header(self.archive, &entry)
        if status == ARCHIVE_FATAL, try self.startAgainInJapanese() {
            status = blob_archive_read_next_header(self.archive, &entry)
        }
        if status != ARCHIVE_WARN { try self.check(status) }
        guard status != ARCHIVE_EOF, let entry else { return nil }
        self.count += 1
        let warning = status == ARCHIVE_WARN ? self.message ?? "an unspecified warning" : nil
        return ExchangedEntry(entry, warning: warning.map { Array($0.utf8) })
    }

    /// The number of bytes that libarchive consumed; after the last member, the offset of the data after the archive.
    var consumedByteCount: Int64 { max(0, blob_archive_filter_bytes(self.archive, 0)) }

    /// Reopens an LHA archive before the next member if its name is not UTF-8: names in no declared character set are
    /// nearly always in code page 932. Returns false for another error, and without random access.
    private func startAgainInJapanese() throws(HelperFailure) -> Bool {
        // libarchive has no message for such a name.
        guard self.format == "lha", !self.isJapanese, self.message == nil else { return false }
        guard self.input.rewind() else {
            throw HelperFailure(
                .library,
                "names without a declared character set are not supported in an LHA archive that can be read only once")
        }
        self.isJapanese = true
        self.archive = try Self.makeArchive(self.format)
        guard blob_archive_read_set_format_option(self.archive, "lha", "hdrcharset", "CP932") == ARCHIVE_OK else {
            throw HelperFailure(.unavailable, "the names are in code page 932, which is not supported")
        }
        try self.open()
        var entry: OpaquePointer?
        for _ in 0..<self.count { try self.check(blob_archive_read_next_header(self.archive, &entry)) }
        return true
    }

    /// Returns the next bytes of the member, or its end.
    func block(_ memory: ExchangeMemory) throws(HelperFailure) -> ExchangeFrame {
        let first: Block
        if let pending = self.pendingBlock { first = try pending.get() } else { first = try self.read() }
        self.pendingBlock = nil
        guard !first.bytes.isEmpty else { return ExchangeFrame(.end, a: first.byteOffset) }
        if first.bytes.count >= Self.longByteCount, let place = memory.place(of: first.bytes) {
            return ExchangeFrame(.data, a: first.byteOffset, b: place, c: Int64(first.bytes.count))
        }
        var (count, next) = (0, first)
        while true {
            let part = UnsafeRawBufferPointer(rebasing: next.bytes.prefix(memory.output.count - count))
            UnsafeMutableRawBufferPointer(rebasing: memory.output[count...]).copyMemory(from: part)
            count += part.count
            if part.count < next.bytes.count {
                // The rest stays valid, because libarchive is not called before the rest is taken.
                next.bytes = UnsafeRawBufferPointer(rebasing: next.bytes[part.count...])
                next.byteOffset &+= Int64(part.count)
                self.pendingBlock = .success(next)
                break
            }
            let following = Result { () throws(HelperFailure) in try self.read() }
            guard case .success(let block) = following, !block.bytes.isEmpty,
                block.byteOffset == first.byteOffset &+ Int64(count)
            else {
                self.pendingBlock = following
                break
            }
            next = block
        }
        let place = Int64(ExchangeMemory.inputByteCount)
        return ExchangeFrame(.data, a: first.byteOffset, b: place, c: Int64(count))
    }

    private func read() throws(HelperFailure) -> Block {
        while true {
            var start: UnsafeRawPointer?
            var count = 0
            var byteOffset: Int64 = 0
            let status = blob_archive_read_data_block(self.archive, &start, &count, &byteOffset)
            try self.check(status)
            if status == ARCHIVE_EOF {
                // The offset that libarchive returns includes the line ends after a record of a WARC and the bytes of
                // earlier members of a xar, and in a RAR 5 it is unset.
                return Block(bytes: UnsafeRawBufferPointer(start: nil, count: 0), byteOffset: self.dataEnd)
            }
            guard count > 0 else { continue }
            self.dataEnd = byteOffset &+ Int64(count)
            return Block(bytes: UnsafeRawBufferPointer(start: start, count: count), byteOffset: byteOffset)
        }
    }
}

/// The bytes of the archive, which the helper requests and libarchive reads through callbacks.
final class HelperInput {
    /// The number of bytes requested after a jump, because formats that require jumps read little at each offset.
    private static let jumpByteCount = 64 * 1024

    private let channel: ExchangeChannel
    private let memory: ExchangeMemory
    private let library: LibraryInput
    /// The range of the archive whose bytes are in the shared memory.
    private var suppliedRange: Range<Int64> = 0..<0
    /// The number of requests for bytes so far.
    private(set) var requestCount = 0

    init(_ channel: ExchangeChannel, _ memory: ExchangeMemory, byteCount: Int64?, format: String) {
        (self.channel, self.memory) = (channel, memory)
        self.library = LibraryInput(byteCount: byteCount, format: format)
    }

    /// Returns the next bytes, which stay valid until the next call; an empty buffer at the end, nil on failure.
    private func read() -> UnsafeRawBufferPointer? {
        let byteOffset = self.library.byteOffset
        if let byteCount = self.library.byteCount, byteOffset >= byteCount {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if !self.suppliedRange.contains(byteOffset) {
            let wanted =
                byteOffset != self.suppliedRange.upperBound ? Self.jumpByteCount : ExchangeMemory.inputByteCount
            self.requestCount += 1
            guard (try? self.channel.send(ExchangeFrame(.need, a: byteOffset, b: Int64(wanted)))) != nil,
                case .success(let frame) = self.channel.receive(idle: {})
            else { blob_exit(0) }
            guard frame.kind == .bytes, (0...Int64(wanted)).contains(frame.a) else { return nil }
            self.suppliedRange = byteOffset..<(byteOffset + frame.a)
        }
        self.library.byteOffset = self.suppliedRange.upperBound
        let place = Int(byteOffset - self.suppliedRange.lowerBound)
        return UnsafeRawBufferPointer(rebasing: self.memory.input[place..<self.suppliedRange.count])
    }

    /// Moves to the beginning of the archive; returns false without random access.
    func rewind() -> Bool { self.library.rewind() }

    /// Registers the callbacks with which libarchive reads these bytes.
    func connect(to archive: OpaquePointer) { self.library.connect(to: archive) { [unowned self] in self.read() } }
}
