import BlobCore

/// Converts names chosen by senders to safe file names.
package enum SafeFileName {
    /// The maximum length in bytes, which leaves room for a number and a mark in the 255 bytes of file systems.
    static let maximumByteCount = 200

    private static let kept = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+,=@~".utf8)

    /// Returns a safe file name for any bytes, with all but plain characters written as `%XX`.
    ///
    /// The name is never empty, a path, hidden, or an option. Bytes past the limit are dropped.
    package static func make(from name: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in name {
            let isOddFirst = text.isEmpty && (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-"))
            let piece = PercentEncoding.encode([byte], leaving: isOddFirst ? [] : Self.kept)
            guard text.utf8.count + piece.utf8.count <= Self.maximumByteCount else { break }
            text += piece
        }
        return text.isEmpty ? "upload" : text
    }
}
