import BlobStreams

/// Names that senders choose, made harmless.
package enum SafeFileName {
    /// Leaves room for a number and a mark in the 255 bytes that file systems take.
    static let maximumByteCount = 200

    private static let kept = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+,=@~".utf8)

    /// A name of a file in one folder, for any bytes: what is not plain is written `%XX`.
    ///
    /// Never empty, never a path, never hidden, never an option. Bytes past the limit are dropped.
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
