/// The form in which a source provides its bytes. ``BlobReader`` does the rest: it tracks the offset, the end, a
/// failure and closing, skips, waits, lends, limits time, and adds context to errors.
public enum BlobBody {
    /// Bytes that can be read at any offset: a file, memory, a database.
    ///
    /// - Parameters:
    ///   - info: The facts about exactly these bytes.
    ///   - now: A closure that does the same as `read`, but without waiting. It returns false if that is not possible
    ///     at this offset now; `read` is then called on a thread of the pool. Nil if the source cannot determine this.
    ///     The two closures are never called at the same time.
    ///   - read: A closure that appends bytes from an offset; it appends none only at the end, where it is called once
    ///     more, for checks. The closures are released when the reader is closed, after any call that is still running.
    case positional(BlobInfo, now: BlobNonblockingReadAt? = nil, read: BlobReadAt)

    /// Sequential bytes from `startingAt` on: a pipe, a socket, a server, a library with a pull interface. The
    /// framework discards the bytes before the offset of the opening.
    case stream(any BlobByteStream, startingAt: Int64)

    /// Bytes that a decoder, an encoder or a cipher produces from the bytes of a reader.
    case transform(BlobReader, any BlobTransform, startingAt: Int64)

    /// Bytes of a reader that are inspected and pass unchanged: limits, digests, counts, slices, throttles.
    case inspected(BlobReader, any BlobInspector, startingAt: Int64)

    /// A sequence of sources. If the info of a source is nil, it is requested first. The second value is the info of
    /// the whole sequence, which is computed if it is nil.
    case joined([(source: any BlobInputStreamDataSource, info: BlobInfo?)], BlobInfo? = nil)

    /// A body that is created once the reader's info and `peeking` bytes, or fewer at its end, are available. The
    /// reader delivers these bytes again. The closure must not block.
    case deferred(BlobReader, peeking: Int = 0, (_ base: BlobInfo, _ beginning: RawSpan) throws -> BlobBody)
}

/// A function that appends bytes from an offset.
public typealias BlobReadAt = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Void

/// A function that appends bytes from an offset if it can do so without waiting, and returns false otherwise.
public typealias BlobNonblockingReadAt = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Bool

/// A sequential stream of bytes.
///
/// A stream has one owner, which makes one call at a time, on any thread, and none after an end, an error or
/// ``close()``. The stream therefore needs no lock, and need not record these events.
public protocol BlobByteStream: AnyObject {
    /// The facts about exactly these bytes; nil until they are known, and then final. The first access starts to
    /// determine them, and ``readiness`` fires when they are known.
    var info: BlobInfo? { get throws }

    /// True if no call blocks, regardless of the traits of the source; false by default. Final.
    var neverBlocks: Bool { get }

    /// The slot that fires when a read that returned ``BlobReadResult/notYet`` is worth trying again, or the info is
    /// known. Accessed after each `notYet`. Nil, the default, for a stream that never returns it.
    var readiness: BlobWakerSlot? { get }

    /// Appends the next bytes.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset reached: the offset at which the stream starts plus the number of bytes delivered.
    ///   - output: The output, which has space for at least one byte. The bytes are appended to it; it must not be used
    ///     after the call.
    /// - Returns: ``BlobReadResult/bytes`` after appending at least one byte, perhaps fewer than fit; otherwise nothing
    ///   was appended.
    /// - Throws: ``BlobError`` or any other error, which is wrapped; the bytes that the call appended are then
    ///   discarded.
    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult

    /// Returns the next bytes without a copy, and advances past them; returns nil, the default, if no bytes in memory
    /// can be handed over. A read then delivers them.
    func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes?

    /// Frees the resources of the stream. Called once.
    func close()
}

extension BlobByteStream {
    /// False by default: calls may block, unless the traits of the source rule that out.
    public var neverBlocks: Bool { false }

    /// Nil by default: the stream never returns `notYet`.
    public var readiness: BlobWakerSlot? { nil }

    /// Returns nil: the bytes must be read.
    public func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? { nil }

    /// Does nothing.
    public func close() {}
}

/// A transformation of bytes, such as by a decoder, an encoder or a cipher.
///
/// Implemented by a value, or by a final class around a resource that cannot be copied. It does no I/O, and can be
/// tested alone.
public protocol BlobTransform {
    /// Consumes bytes from the front of `input`, and appends the resulting bytes to `output`.
    ///
    /// - Parameters:
    ///   - input: The next bytes, at most 65,536. Bytes that the step does not consume are passed again, followed by
    ///     more bytes.
    ///   - isLast: True if no bytes follow `input`: the base has checked its end.
    ///   - output: The output, which has space for at least 4,096 bytes.
    /// - Returns: The reason why the step ended. ``BlobStep/end`` is allowed only if `isLast` is true and no input is
    ///   left: a decoder that finishes earlier throws ``BlobError/Code/trailingData`` for further bytes.
    /// - Throws: Any error. The bytes appended before it are valid, and are delivered first. A byte offset in the error
    ///   refers to the bytes of the base, whose locator the framework adds. An error of another library, such as a
    ///   failed authentication, becomes ``BlobError/Code/corrupted``, because a transform does no I/O; see
    ///   ``BlobError/init(wrapping:)``.
    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep

    /// Returns the info of the result, given the info of the base. Called once, before the first step.
    mutating func info(of base: BlobInfo) throws -> BlobInfo
}

/// The outcome of a step of a ``BlobTransform``.
public enum BlobStep: Sendable {
    /// The transform needs more input than is left, or no input is left.
    case needsInput
    /// The output is full, and the transform may produce more bytes from its state: the next step may receive no input.
    case full
    /// All bytes have been produced.
    case end
}

/// An inspector of bytes that pass unchanged: a limit, a digest, a count, a slice.
public protocol BlobInspector {
    /// Returns the info of the bytes that pass; by default the info of the base. Called again if a length becomes known
    /// later.
    mutating func info(of base: BlobInfo) throws -> BlobInfo

    /// Returns how many bytes may pass next; by default any number.
    mutating func readLimit() throws -> BlobReadLimit

    /// Inspects the next bytes of the base, and returns the range of bytes that pass: bytes before the range are
    /// discarded, and if bytes after it are left out, the stream ends there. An empty range discards all bytes.
    ///
    /// - Parameters:
    ///   - bytes: At least one byte; no bytes if `isLast` is true.
    ///   - byteOffset: The offset of the first byte in the base.
    ///   - isLast: True once, at the end of the base, after the base has checked it.
    /// - Throws: Any error; none of the bytes is then delivered.
    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int>

    /// Returns an error of the base as this layer reports it; by default unchanged.
    func reportedError(_ error: BlobError) -> BlobError
}

/// The number of bytes that may pass a ``BlobInspector``.
public enum BlobReadLimit: Sendable {
    /// At most this many bytes, at least one.
    case bytes(Int64)
    /// No more bytes: the stream ends here. The base is not read to its own end.
    case end
    /// No bytes before this instant.
    case wait(until: ContinuousClock.Instant)
}

extension BlobInspector {
    /// Returns the info of the base.
    public mutating func info(of base: BlobInfo) throws -> BlobInfo { base }

    /// Returns the largest limit, so that any number of bytes may pass.
    public mutating func readLimit() throws -> BlobReadLimit { .bytes(.max) }

    /// Returns the error unchanged.
    public func reportedError(_ error: BlobError) -> BlobError { error }
}
