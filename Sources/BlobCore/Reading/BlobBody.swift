/// The shape of the bytes that a source hands out. ``BlobReader`` does the rest: it keeps offset, end, failure and
/// closing, skips, waits, lends, limits time, and gives errors their context.
public enum BlobBody {
    /// Bytes that can be read at any offset: a file, memory, a database.
    ///
    /// - Parameters:
    ///   - info: The facts about exactly these bytes.
    ///   - now: Reads as `read` does, without waiting; returns false when that is not possible at this offset at this
    ///     time, and then `read` is called on a thread of the pool. Nil when it cannot be told. The two are never
    ///     called at the same time.
    ///   - read: Appends bytes from an offset; appends none only at the end, where it is called once more, for checks.
    ///     The closures are released when the reader is closed, and after a call that was running then.
    case positional(BlobInfo, now: BlobReadAtNow? = nil, read: BlobReadAt)

    /// Bytes that come one after the other from `startingAt` on: a pipe, a socket, a server, a library that pulls. The
    /// framework drops those before the offset of the opening.
    case stream(any BlobByteStream, startingAt: Int64)

    /// Bytes that a decoder, an encoder or a cipher makes from the bytes of a reader.
    case transform(BlobReader, any BlobTransform, startingAt: Int64)

    /// Bytes of a reader that pass unchanged and are looked at: limits, digests, counts, slices, throttles.
    case inspected(BlobReader, any BlobInspector, startingAt: Int64)

    /// Sources in a row. Infos that are nil are asked for first; the last one describes the whole, and is computed when
    /// it is nil.
    case joined([(source: any BlobInputStreamDataSource, info: BlobInfo?)], BlobInfo? = nil)

    /// A body that is made once the reader knows its info and has `peeking` bytes, fewer only at its end. The reader
    /// delivers these bytes again. The closure must not block.
    case deferred(BlobReader, peeking: Int = 0, (_ base: BlobInfo, _ beginning: RawSpan) throws -> BlobBody)
}

/// A function that appends bytes from an offset.
public typealias BlobReadAt = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Void

/// A function that appends bytes from an offset if that is possible without waiting, and returns false otherwise.
public typealias BlobReadAtNow = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Bool

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

/// Bytes that are made from other bytes: a decoder, an encoder, decryption.
///
/// A value, or a final class around what cannot be copied. It does no I/O, and can be tested alone.
public protocol BlobTransform {
    /// Takes bytes from the front of `input`, and appends those that they make.
    ///
    /// - Parameters:
    ///   - input: At most 65,536 bytes. What is left comes again, with more bytes behind it.
    ///   - isLast: True when nothing comes after `input`: the base has checked its end.
    ///   - output: Has room for at least 4,096 bytes.
    /// - Returns: What the transform waits for. ``BlobStep/end`` only with `isLast` and no input left: a decoder that
    ///   is done earlier throws ``BlobError/Code/trailingData`` for more.
    /// - Throws: Any error. The bytes appended before it count, and are delivered first. A byte offset in it counts the
    ///   bytes of the base, whose locator the framework adds.
    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep

    /// Returns the info of the result, given the info of the base. Called once, before the first step.
    mutating func info(of base: BlobInfo) throws -> BlobInfo
}

/// The outcome of a step of a ``BlobTransform``.
public enum BlobStep: Sendable {
    /// It needs more bytes than it left, or none are left.
    case needsInput
    /// It needs room, and may make more bytes from what it has: the next step may get no input.
    case full
    /// All bytes were made.
    case end
}

/// A look at bytes that pass unchanged: a limit, a digest, a count, a slice.
public protocol BlobInspector {
    /// Returns the info of the bytes that pass; by default the info of the base. Called again when a length is learnt
    /// late.
    mutating func info(of base: BlobInfo) throws -> BlobInfo

    /// Returns how many bytes may pass next; by default any number.
    mutating func room() throws -> BlobRoom

    /// Looks at the next bytes of the base, and returns the range of those that pass: those before it are dropped, and
    /// when bytes are left out behind it, that is the end. An empty range drops all of them.
    ///
    /// - Parameters:
    ///   - bytes: At least one byte; none when `isLast`.
    ///   - byteOffset: The offset of the first of them in the base.
    ///   - isLast: True once, at the end of the base, which has checked it.
    /// - Throws: Any error; then none of the bytes counts.
    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int>

    /// Returns an error of the base as this layer reports it; by default the same.
    func reported(_ error: BlobError) -> BlobError
}

/// The number of bytes that may pass a ``BlobInspector``.
public enum BlobRoom: Sendable {
    /// At most this many bytes, at least one.
    case bytes(Int64)
    /// None: this is the end. The base is not read to its own.
    case end
    /// None before this instant.
    case wait(until: ContinuousClock.Instant)
}

extension BlobInspector {
    /// Returns the info of the base.
    public mutating func info(of base: BlobInfo) throws -> BlobInfo { base }

    /// Returns room for any number of bytes.
    public mutating func room() throws -> BlobRoom { .bytes(.max) }

    /// Returns the error.
    public func reported(_ error: BlobError) -> BlobError { error }
}
