/// A reader that can lend its next bytes while they are in memory.
package protocol BlobLendingReader: BlobPluginReader {
    /// Lends the next bytes without consuming them: a read returns them again.
    ///
    /// - Returns: At least one byte, in memory that does not change while the value is kept; nil when none are in
    ///   memory.
    func lend() -> BlobLentBytes?

    /// Consumes bytes from the front of those that were lent last: the next read or loan begins after them.
    ///
    /// - Parameter byteCount: The number of bytes to consume, from 0 to the number lent.
    func consume(_ byteCount: Int)
}

/// Bytes that a reader lends, and the owner of their memory.
package struct BlobLentBytes: @unchecked Sendable {  // Safe: the bytes are not written to while the owner lives.
    /// The bytes; valid while this value, or a copy of it, lives.
    package let bytes: UnsafeRawBufferPointer
    private let owner: any AnyObject & Sendable

    /// Creates a loan of `bytes`, which are not written to while `owner` lives.
    package init(_ bytes: UnsafeRawBufferPointer, ownedBy owner: any AnyObject & Sendable) {
        self.bytes = bytes
        self.owner = owner
    }

    func prefix(_ count: Int64) -> Self {
        Self(UnsafeRawBufferPointer(rebasing: self.bytes.prefix(Int(clamping: count))), ownedBy: self.owner)
    }
}
