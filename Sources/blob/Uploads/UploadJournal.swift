#if Command
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// A file with a line for each accepted upload: the URL, locator, validator and SHA-256, separated by spaces, and the
/// ETag if the server sent one.
///
/// Each line is synchronised before its thread begins the next upload. If the process is killed, the last line may be
/// truncated. Without a complete digest, it is ignored like any other malformed line.
final class UploadJournal: Sendable {
    struct Entry: Equatable {
        let validator: Substring
        let digest: Substring
        /// The ETag, percent-encoded; nil if the server sent none.
        var tag: Substring?

        /// Returns true if the response to HEAD may be about the uploaded object.
        ///
        /// - Parameter byteCount: The length of the object in bytes; nil if it is unknown or differs from the source's
        ///   length.
        func isAlike(_ head: ResponseHead, _ byteCount: Int64?) -> Bool {
            guard head.isSuccess, byteCount == nil || head.contentLength ?? byteCount == byteCount else { return false }
            if byteCount != nil, let found = head.digest, found.algorithm.name == CryptoDigest.sha256.name {
                return found.value.hexadecimal == self.digest
            }
            guard let tag, let found = head.value(of: "etag") else {
                return byteCount == nil || head.contentLength == byteCount
            }
            return UploadJournal.writtenForm(of: found) == tag
        }
    }

    private static let digestLength = 64
    private static let maximumLineByteCount = 1 << 20
    private static let writtenCharacters = ByteSet(0x21...0x7E)

    private let path: String
    private let file: Descriptor
    private let entries: Locked<[Substring: Entry]>

    /// Opens the journal and locks it. If the journal does not exist, creates it with access for this user only.
    ///
    /// - Throws: ``BlobError/Code/io`` and similar errors; ``BlobError/Code/unavailable`` if another process is using
    ///   the journal.
    init(path: String) throws(BlobError) {
        self.path = path
        self.file = try Descriptor(
            path, O_RDWR | O_APPEND | O_CREAT, permissions: 0o600, doing: "Could not open the journal \(path)")
        guard self.file.lock() else { throw BlobError(.unavailable, "Another process is using the journal \(path).") }
        self.entries = Locked(try Self.entries(in: self.file, path))
    }

    /// Returns the entry of an uploaded source if the source is unchanged; nil otherwise.
    func entry(_ url: String, _ info: BlobInfo, _ locator: BlobLocator?) -> Entry? {
        guard let key = Self.key(url, locator), let validator = info.validator else { return nil }
        let entry = self.entries.withLock { $0[Substring(key)] }
        return entry?.validator == Substring(Self.writtenForm(of: validator.text)) ? entry : nil
    }

    /// Adds and synchronises a line for an accepted upload. Adds no line for a source without a locator or a validator.
    func append(
        _ url: String, _ info: BlobInfo, _ locator: BlobLocator?, _ digest: String, tag: String? = nil
    ) throws(BlobError) {
        guard let key = Self.key(url, locator), let validator = info.validator else { return }
        let tag = tag.map { " \(Self.writtenForm(of: $0))" } ?? ""
        let line = "\(key) \(Self.writtenForm(of: validator.text)) \(digest)\(tag)\n"
        // The lock orders the writes. Each line is a single write, but a full disk may store only a part of it.
        try self.entries.withLock { _ throws(BlobError) in
            try writeAll(Array(line.utf8), to: self.file.rawValue, named: self.path)
        }
        try self.file.synchronise(doing: "Could not synchronise the journal \(self.path)")
    }

    private static func key(_ url: String, _ locator: BlobLocator?) -> String? {
        locator.map { "\(self.writtenForm(of: url)) \(self.writtenForm(of: $0.identity))" }
    }

    fileprivate static func writtenForm(of text: String) -> String {
        PercentEncoding.encode(text.utf8, leaving: self.writtenCharacters)
    }

    /// Returns the entries, and terminates a truncated last line.
    private static func entries(in file: Descriptor, _ path: String) throws(BlobError) -> [Substring: Entry] {
        var (rest, entries, byteOffset): ([UInt8], [Substring: Entry], Int64) = ([], [:], 0)
        while true {
            let bytes = try file.bytes(at: byteOffset, count: 1 << 16, named: "the journal \(path)")
            if bytes.isEmpty { break }
            byteOffset += Int64(bytes.count)
            rest += bytes
            let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for line in lines.dropLast() { self.add(line, to: &entries) }
            rest = Array(lines[lines.count - 1])
            if rest.count > self.maximumLineByteCount { rest = [0] }  // Not a line of a journal.
        }
        guard !rest.isEmpty else { return entries }
        self.add(rest[...], to: &entries)
        try writeAll([UInt8(ascii: "\n")], to: file.rawValue, named: path)
        return entries
    }

    private static func add(_ line: ArraySlice<UInt8>, to entries: inout [Substring: Entry]) {
        guard line.allSatisfy({ (0x20...0x7E).contains($0) }) else { return }
        let text = String(decoding: line, as: UTF8.self)
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (4...5).contains(fields.count), fields[3].utf8.count == self.digestLength,
            fields[3].allSatisfy(\.isHexDigit)
        else { return }
        let key = text[..<fields[1].endIndex]
        entries[key] = Entry(validator: fields[2], digest: fields[3], tag: fields.count > 4 ? fields[4] : nil)
    }
}
#endif
