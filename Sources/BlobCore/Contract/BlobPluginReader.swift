/// One pass over the bytes of a ``BlobInputStreamDataSource``.
///
/// A reader has one owner, which makes one call at a time, on any thread. It needs no lock inside.
///
/// The simplest reader blocks until it has bytes: it implements ``info``, ``read(into:)`` and ``close()``. An
/// event-driven reader returns ``BlobReadResult/notYet`` instead of blocking, and implements ``whenReadable(_:)``.
/// Plugins implement this protocol; users get a guarded reader from
/// ``BlobInputStreamDataSource/open(at:matching:context:)``.
///
/// ```swift
/// final class ZeroReader: BlobPluginReader {
///     let info: BlobInfo
///     private var rest: Int?  // Nil once closed.
///
///     init(byteCount: Int) { (self.info, self.rest) = (BlobInfo(byteCount: Int64(byteCount)), byteCount) }
///
///     func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
///         guard let rest else { throw BlobError(.closed, "The reader is closed.") }
///         let count = min(rest, output.freeCapacity)
///         output.append(repeating: 0, count: count, as: UInt8.self)
///         self.rest = rest - count
///         return count > 0 ? .bytes : .end
///     }
///
///     func close() { self.rest = nil }
/// }
/// ```
public protocol BlobPluginReader: AnyObject {
    /// The facts about exactly the bytes that are being read. Final once ``isOpen`` is true.
    var info: BlobInfo { get }

    /// False while an event-driven reader is still opening; true, the default, otherwise. The waker is called when it
    /// changes; the first byte and the end also make it true.
    var isOpen: Bool { get }

    /// True when no call of this reader blocks, whatever the traits of its source; false by default.
    ///
    /// For sources that cannot know this before they open. Final.
    var neverBlocks: Bool { get }

    /// Reads the next bytes of the blob.
    ///
    /// - Parameter output: The output, which has room. Appended to from the front; not kept after the call.
    /// - Returns: ``BlobReadResult/bytes`` after appending at least one byte, perhaps fewer than fit; otherwise nothing
    ///   was appended.
    /// - Throws: ``BlobError`` or any other error, which is wrapped; then no byte of the call counts, and every later
    ///   read throws the same error.
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult

    /// Registers a waker that is called once when a read is worth trying again: at the next bytes, the end or an error.
    ///
    /// Implemented by readers that return ``BlobReadResult/notYet``, and called after they did. Registering replaces
    /// the previous waker. The reader tests readiness and stores the waker under the lock under which the producer
    /// publishes, so that no wake-up is lost; if a read is already worth trying, the waker is called at once, perhaps
    /// before this returns. It is called outside of the reader's locks, on any thread; a spurious call is allowed, a
    /// missing one never. ``close()`` drops it: no call starts after that has returned. A read that returns `notYet`
    /// before the call may drop it as well: ``BlobReader`` registers it again, which may call it within that read.
    func whenReadable(_ waker: BlobWaker)

    /// Frees the resources of the reader. Called by the owner when no read is running; later calls do nothing.
    func close()
}

/// The outcome of a read.
public enum BlobReadResult: Sendable {
    /// At least one byte was appended.
    case bytes
    /// There are no more bytes, and all checks at the end passed.
    case end
    /// Nothing is available yet: ``BlobPluginReader/whenReadable(_:)`` registers a waker for when it is.
    case notYet
}

extension BlobPluginReader {
    /// True: the reader is open from the start.
    public var isOpen: Bool { true }

    /// False: calls may block, unless the traits of the source exclude it.
    public var neverBlocks: Bool { false }

    /// Reports that the waker will never be called: a reader that returns `notYet` must implement this method.
    public func whenReadable(_ waker: BlobWaker) { waker.reportMissing() }
}

extension BlobPluginReader {
    /// Reads at most `byteCount` bytes, for wrappers that end before their base does.
    ///
    /// - Parameters:
    ///   - output: The memory to which the bytes are appended.
    ///   - byteCount: The maximum number of bytes to append; with 0 or less, nothing is read and the result is `bytes`.
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
    /// - Parameters:
    ///   - bytes: A value that is its own slice type, such as `Data` or `ArraySlice<UInt8>`.
    ///   - output: The memory to which the bytes are appended.
    /// - Returns: ``bytes`` when at least one byte was moved; ``end`` when there were none.
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
