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

extension BlobReader {
    /// Reads at most `byteCount` bytes, for wrappers that end before their base does.
    ///
    /// - Parameter byteCount: The most bytes to append; 0 and less read nothing, and say `bytes`.
    public func read(into output: inout OutputRawSpan, atMost byteCount: Int) throws -> BlobReadResult {
        var result = BlobReadResult.bytes
        try output.append(atMost: byteCount) { part in
            if part.freeCapacity > 0 { result = try self.read(into: &part) }
        }
        return result
    }
}

extension BlobReadResult {
    /// Moves as many of `bytes` as fit to `output`, and removes them from the front.
    ///
    /// - Parameter bytes: A value that is a slice of itself, such as `Data` and `ArraySlice<UInt8>`.
    /// - Returns: ``bytes`` when at least one was moved; ``end`` when there was none.
    public static func moving<Bytes: Collection<UInt8>>(
        _ bytes: inout Bytes, to output: inout OutputRawSpan
    ) -> BlobReadResult where Bytes.SubSequence == Bytes {
        guard !bytes.isEmpty else { return .end }
        let part = bytes.prefix(output.freeCapacity)
        if part.withContiguousStorageIfAvailable({ output.append(contentsOf: UnsafeRawBufferPointer($0)) }) == nil {
            for byte in part { output.append(byte) }
        }
        bytes.removeFirst(part.count)
        return .bytes
    }
}
