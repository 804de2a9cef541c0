/// A reader whose next bytes wait in memory, which it can lend.
package protocol BlobLendingReader: BlobReader {
    /// Lends the next bytes without taking them: a read brings them again.
    ///
    /// - Returns: At least one byte, in memory that stays as it is while the value is kept; nil when nothing waits.
    func lend() -> BlobLentBytes?

    /// Takes bytes from the front of those that were lent last: the next read or loan begins behind them.
    ///
    /// - Parameter byteCount: 0 to the number of bytes lent.
    func consume(_ byteCount: Int)
}

/// Bytes that a reader lends, and the owner of the memory that they are in.
package struct BlobLentBytes: @unchecked Sendable {  // Safe: nobody writes to the bytes while the owner lives.
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
