/// One pass over the bytes of a ``BlobInputStreamDataSource``.
///
/// Has one owner, who makes one call at a time, on any thread. No lock is needed inside.
///
/// A reader that blocks until it has bytes is the simplest thing to write: ``info``, ``read(into:)`` and ``close()``. An
/// event-driven one says ``BlobReadResult/notYet`` instead of blocking, and writes ``whenReadable(_:)``. Plugins
/// implement this; users get theirs from ``BlobInputStreamDataSource/open(at:matching:context:)``, which guards it.
public protocol BlobReader: AnyObject {
    /// The facts known about exactly the bytes that are being read. Final once ``isOpen`` is true.
    var info: BlobInfo { get }

    /// False while an event-driven reader is still opening; true, the default, otherwise. The waker is called when it
    /// changes; the first byte and the end make it true as well.
    var isOpen: Bool { get }

    /// True when no call of this reader blocks, whatever its source says of itself; false by default.
    ///
    /// For sources that do not know before they open. Final.
    var neverBlocks: Bool { get }

    /// Reads the next bytes of the blob.
    ///
    /// - Parameter output: Has room. Appended to from the front; not kept after the call.
    /// - Returns: ``BlobReadResult/bytes`` after appending at least one byte, perhaps fewer than fit; otherwise nothing
    ///   was appended.
    /// - Throws: ``BlobError`` or any other error, which is wrapped; then no byte of the call counts, and every later
    ///   read throws the same error.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult

    /// Has `waker` called once when a read is worth trying again: at the next bytes, the end or an error.
    ///
    /// Written by readers that say ``BlobReadResult/notYet``, and called after they did. Registering replaces the waker
    /// before. Readiness is tested and the waker stored under the lock that the producer publishes under, so that no news
    /// is lost; if a read is worth trying already, the waker is called at once, perhaps before this returns. It is called
    /// outside of the reader's locks, on any thread; a spurious call is allowed, a missing one never. ``close()`` drops
    /// it: no call starts after that has returned.
    func whenReadable(_ waker: BlobWaker)

    /// Frees what the reader holds. Called by the owner once no read runs; later calls do nothing.
    func close()
}

/// The outcome of a read.
public enum BlobReadResult: Sendable {
    /// At least one byte was appended.
    case bytes
    /// There are no more bytes, and all checks of the end passed.
    case end
    /// There is nothing for now: ``BlobReader/whenReadable(_:)`` tells when there is.
    case notYet
}

extension BlobReader {
    /// True: the reader was open when it was made.
    public var isOpen: Bool { true }

    /// False: calls may block, unless the source says that they do not.
    public var neverBlocks: Bool { false }

    /// Tells whoever waits that nobody will wake it: a reader that says `notYet` writes this method.
    public func whenReadable(_ waker: BlobWaker) { waker.reportMissing() }
}

/// A reader that can pass over bytes at no cost.
public protocol BlobSkippingReader: BlobReader {
    /// Goes on behind the next bytes.
    ///
    /// - Parameter byteCount: 0 to what is left of the byte count, which is known.
    func skip(_ byteCount: Int64)
}

/// A reader whose next bytes wait in memory, which it can lend.
public protocol BlobLendingReader: BlobReader {
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
public struct BlobLentBytes: @unchecked Sendable {  // Safe: nobody writes to the bytes while the owner lives.
    /// The bytes; valid while this value, or a copy of it, lives.
    public let bytes: UnsafeRawBufferPointer
    private let owner: any AnyObject & Sendable

    /// Creates a loan of `bytes`, which are not written to while `owner` lives.
    public init(_ bytes: UnsafeRawBufferPointer, ownedBy owner: any AnyObject & Sendable) {
        self.bytes = bytes
        self.owner = owner
    }

    func prefix(_ count: Int64) -> Self {
        Self(UnsafeRawBufferPointer(rebasing: self.bytes.prefix(Int(clamping: count))), ownedBy: self.owner)
    }
}
