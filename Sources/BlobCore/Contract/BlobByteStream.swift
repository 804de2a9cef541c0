/// Bytes that come one after the other.
///
/// A stream has one owner, which makes one call at a time, on any thread, and none after an end, an error or
/// ``close()``: it needs neither a lock nor a state for these.
public protocol BlobByteStream: AnyObject {
    /// The facts about exactly these bytes; nil until they are known, and then final. Asking begins to find out, and
    /// ``readiness`` fires when they are known.
    var info: BlobInfo? { get throws }

    /// True when no call blocks, whatever the traits of the source say; false by default. Final.
    var neverBlocks: Bool { get }

    /// The slot that fires when a read that returned ``BlobReadResult/notYet`` is worth trying again, or the info is
    /// known. Asked for after each `notYet`. Nil, the default, for a stream that never returns it.
    var readiness: BlobWakerSlot? { get }

    /// Appends the next bytes.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset reached: the number of bytes delivered so far, behind that at which the stream
    ///     starts.
    ///   - output: The output, which has room. Appended to from the front; not kept after the call.
    /// - Returns: ``BlobReadResult/bytes`` after appending at least one byte, perhaps fewer than fit; otherwise nothing
    ///   was appended.
    /// - Throws: ``BlobError`` or any other error, which is wrapped; then no byte of the call counts.
    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult

    /// Returns the next bytes without a copy, and moves past them; nil, the default, when there are none in memory that
    /// can be given away. A read then delivers them.
    func take(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes?

    /// Frees the resources of the stream. Called once.
    func close()
}

extension BlobByteStream {
    /// False: calls may block, unless the traits of the source exclude it.
    public var neverBlocks: Bool { false }

    /// Nil: the stream never returns `notYet`.
    public var readiness: BlobWakerSlot? { nil }

    /// Nil: the bytes have to be read.
    public func take(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? { nil }

    /// Does nothing.
    public func close() {}
}
