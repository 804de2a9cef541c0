/// A source of bytes: the protocol that a plugin implements.
///
/// A source is an immutable description that can be shared and opened again. To seek, a reader is opened at another
/// offset; the source keeps to itself whatever makes that cheap.
///
/// ```swift
/// let info = try source.info()
/// print(info.byteCount ?? -1, info.isRandomAccess)
/// let reader = try source.open(at: 512)
/// for try await line in source.lines() { print(line) }
/// ```
///
/// ## The contracts
///
/// The duties of a plugin, by the numbers with which the conformance kit of `BlobStreamsTesting` reports violations.
///
/// - **C1** A read appends at least one byte and returns `bytes`, or appends none and returns `end` or `notYet`; after
///   `notYet` the slot is fired when bytes, the end or an error are there. A call too many is allowed, a missing one
///   never.
/// - **C4** The output of a read is not kept after the call.
/// - **C5** An opening takes the offsets 0 to the byte count; past it is ``BlobError/Code/invalidArgument``, from the first
///   read when the length is unknown.
/// - **C6** A source without random access may be slow at an offset, but never wrong.
/// - **C7** Opening with a validator other than that of the content is ``BlobError/Code/changed``, before any byte.
/// - **C8** A known byte count is delivered exactly, or ``BlobError/Code/truncated`` or ``BlobError/Code/changed`` is
///   thrown. The info is final once it is known.
/// - **C9** An empty blob opens and ends like a blob of any other length.
/// - **C10** Readers of one source are independent, with `concurrentReaders` also at the same time; what the user of one
///   does with its bytes is never seen by another. A source that is not `repeatable` refuses a second opening with
///   ``BlobError/Code/unsupported``.
/// - **C11** The same strong validator means the same bytes.
/// - **C12** Cancelling the context makes a blocked call throw ``BlobError/Code/cancelled`` within one second.
/// - **C13** After the deadline a blocked call throws ``BlobError/Code/timedOut``.
/// - **C14** After `close`, no descriptor, thread or memory is left.
/// - **C15** Every error carries a code, which says whether trying again can help.
/// - **C16** `neverBlocks` is constant, and true of every call, at every offset, with every validator, over a base whose
///   facts come late.
///
/// The framework guarantees the rest for every plugin. **C2** The end is sticky. **C3** After a throw no byte of that call
/// counts, and every later read throws the same error. Closing twice does nothing, and a read after it throws
/// ``BlobError/Code/closed``. Errors carry operation, locator, byte offset and layers.
public protocol BlobInputStreamDataSource: Sendable {
    /// The traits of the source; by default, that it can be opened again, also on several threads. Constant; available in
    /// constant time, without I/O, on any thread.
    var traits: BlobTraits { get }

    /// The locator that resolves to this source; nil, the default, for a source that exists in memory only.
    ///
    /// Available in constant time, without I/O, on any thread.
    var locator: BlobLocator? { get }

    /// Returns the facts known about the blob without reading it. May block, as that of a web source does, which asks
    /// its server.
    ///
    /// Called by the framework; users call ``info(_:)``.
    ///
    /// - Throws: As ``makeBody(_:)``.
    func describe(_ context: BlobContext) throws -> BlobInfo

    /// Hands out the bytes as one of the shapes of ``BlobBody``.
    ///
    /// Called by the framework; users call ``open(at:matching:context:)``.
    ///
    /// - Throws: The errors of the source. The framework checks offset and validator against the info.
    func makeBody(_ opening: BlobOpening) throws -> BlobBody

    /// A hint that these ranges are read next; does nothing by default.
    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext)
}

extension BlobInputStreamDataSource {
    /// Repeatable, with concurrent readers: what an immutable description of bytes is unless it says otherwise.
    public var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// Nil: the source exists in memory only.
    public var locator: BlobLocator? { nil }

    /// Does nothing.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {}
}
