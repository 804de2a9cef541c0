import BlobCore
import BlobPlatform
import CArchive

/// The owner of one `struct archive` and its input.
///
/// All libarchive calls go through this class. It sets a UTF-8 locale on the thread for each call, so that the locale
/// of the process does not mangle names, and converts errors to ``BlobError``.
final class ArchiveHandle {
    private static let utf8Locale = UTF8Locale()

    /// The result of loading libarchive, which happens once, at first use.
    private static let library: Result<Void, BlobError> = {
        guard let reason = blob_archive_load() else { return .success(()) }
        return .failure(
            BlobError(
                .unavailable, "This format needs libarchive, which could not be loaded: \(String(cString: reason)).",
                isTransient: false))
    }()

    let input: ArchiveInput
    private let archive: OpaquePointer
    private let label: String

    /// - Parameters:
    ///   - input: The bytes to read.
    ///   - label: The name of the format in messages, such as "tar archive".
    ///   - configure: Enables formats and filters; called before the first byte is read.
    init(
        _ input: ArchiveInput, label: String, configure: (OpaquePointer) -> CInt
    ) throws(BlobError) {
        try Self.library.get()
        guard let archive = blob_archive_read_new() else {
            throw BlobError(.io, "Not enough memory to open the archive.", isTransient: true)
        }
        self.archive = archive
        self.input = input
        self.label = label
        let status = Self.utf8Locale.use { configure(archive) }
        guard status == ARCHIVE_OK else {
            // A warning means that libarchive would start an external program instead.
            throw BlobError(.unavailable, "libarchive was built without support for this \(label).", isTransient: false)
        }
        input.connect(to: archive)
        try self.call { blob_archive_read_open1($0) }
    }

    deinit {
        let archive = self.archive
        Self.utf8Locale.use { _ = blob_archive_read_free(archive) }
        self.input.close()
    }

    /// Calls a libarchive function.
    ///
    /// - Parameter toleratesWarnings: True to return a warning; false to throw it, because a warning may hide an error.
    /// - Returns: `ARCHIVE_OK`, `ARCHIVE_EOF` or, when tolerated, `ARCHIVE_WARN`.
    @discardableResult
    func call(toleratingWarnings toleratesWarnings: Bool = false, _ body: (OpaquePointer) -> CInt) throws(BlobError)
        -> CInt
    {
        let status = Self.utf8Locale.use { body(self.archive) }
        if let failure = self.input.failure { throw failure }
        if status == ARCHIVE_OK || status == ARCHIVE_EOF { return status }
        if status == ARCHIVE_WARN, toleratesWarnings { return status }
        throw self.error
    }

    /// Returns the next block of the current entry, which may be empty, and its offset in the entry; nil at the end of
    /// the entry.
    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64)? {
        var start: UnsafeRawPointer?
        var count = 0
        var byteOffset: Int64 = 0
        let status = try self.call { blob_archive_read_data_block($0, &start, &count, &byteOffset) }
        return status == ARCHIVE_EOF ? nil : (UnsafeRawBufferPointer(start: start, count: count), byteOffset)
    }

    /// Makes a libarchive call that cannot fail.
    func ask<Value>(_ body: (OpaquePointer) -> Value) -> Value { Self.utf8Locale.use { body(self.archive) } }

    /// The text of the last error or warning; nil if there was neither.
    var message: String? { blob_archive_error_string(self.archive).map { String(cString: $0) } }

    /// The last error of libarchive as a ``BlobError``.
    var error: BlobError { BlobError(libraryMessage: self.message, label: self.label) }
}

/// A UTF-8 locale, set on a thread for the duration of a call.
private struct UTF8Locale: @unchecked Sendable {  // Safe: the locale object is never changed or freed.
    private let locale = blob_make_utf8_locale()

    func use<Value>(_ body: () -> Value) -> Value {
        let previous = blob_use_locale(self.locale)
        defer { _ = blob_use_locale(previous) }
        return body()
    }
}

extension BlobError {
    /// The codes for libarchive messages that contain one of the words; the first match is used.
    private static let codes: [(code: Code, words: [String])] = [
        (.encrypted, ["encrypt", "passphrase", "password"]),
        (.truncated, ["truncated", "unexpected end", "premature", "no progress is possible", "end of file"]),
        (.checksumMismatch, ["crc", "checksum", "digest", "authentication code"]),
        (.sizeMismatch, ["wrong size", "size mismatch"]),
        (
            .unsupported,
            ["unexpected codec id", "unsupported", "not supported", "unknown compression", "cannot seek"]
        ),
        (.limitExceeded, ["allocate memory", "too much memory"]),
    ]

    /// Creates an error from a libarchive message, because libarchive's error numbers do not distinguish a wrong
    /// checksum from a wrong structure.
    init(libraryMessage message: String?, label: String) {
        // libarchive sets no message if bytes are missing.
        guard let reason = message else {
            self.init(.truncated, "The \(label) ends too early.")
            return
        }
        let message =
            switch reason {
            // With a single format enabled, the message concerns the bytes, not the format.
            case "Unrecognized archive format": "its structure is not valid"
            case "Incorrect passphrase": "the password is wrong"
            case "ZIP bad Authentication code": "the authentication code of the member does not match its bytes"
            default: reason
            }
        let text = message.lowercased()
        let code = Self.codes.first { $0.words.contains(where: text.containsText) }?.code ?? .corrupted
        self.init(code, "The \(label) cannot be read: \(message.trimmingSuffix(".")).")
    }
}

extension String {
    func trimmingSuffix(_ suffix: String) -> Substring {
        self.hasSuffix(suffix) ? self.dropLast(suffix.count) : self[...]
    }
}
