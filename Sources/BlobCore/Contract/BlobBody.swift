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
