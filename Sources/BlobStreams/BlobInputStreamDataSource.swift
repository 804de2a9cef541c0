/// Where bytes come from: the contract of a plugin.
///
/// An immutable description that can be shared and opened again. Seeking is opening another reader at another offset; a
/// source keeps for itself what makes that cheap.
///
/// ## The contracts
///
/// The conformance kit of `BlobStreamsTesting` reports them by these numbers.
///
/// - **C1** A read appends at least one byte and says `bytes`, or appends none and says `end` or `notYet`; after `notYet`
///   the waker is called, once, when bytes, the end or an error are there.
/// - **C2** The end is sticky.
/// - **C3** After a throw no byte of that call counts, the same error comes again on every later read, and only `close`
///   is left.
/// - **C4** The buffer of a read is not kept.
/// - **C5** Opening takes the offsets 0 to the byte count; at the byte count the reader is at its end; past it is
///   ``BlobError/Code/invalidArgument``, with an unknown length from the first read.
/// - **C6** A source without random access may be slow at an offset, never wrong.
/// - **C7** Opening for a validator that is not the content's is ``BlobError/Code/changed``, before any byte.
/// - **C8** A known byte count is delivered exactly, or ``BlobError/Code/truncated`` or ``BlobError/Code/changed`` is
///   thrown.
/// - **C9** Zero bytes open and end like any other length.
/// - **C10** Readers of one source are independent; with `concurrentReaders` also at the same time. A source that is not
///   `repeatable` refuses a second opening as ``BlobError/Code/unsupported``.
/// - **C11** The same strong validator means the same bytes.
/// - **C12** Cancelling the context makes a blocked call return within one second, as ``BlobError/Code/cancelled``.
/// - **C13** After the deadline a blocked call ends as ``BlobError/Code/timedOut``.
/// - **C14** `close` is called once no read runs; twice is fine; a read after it throws ``BlobError/Code/closed``; no
///   descriptor, thread or memory is left.
/// - **C15** Every error says what, whether trying again can help, in which operation, of what, at which byte and through
///   which layers. The framework fills in what the plugin leaves out.
public protocol BlobInputStreamDataSource: Sendable {
    /// What the source can do. May look, and block: asked where the source may be opened.
    var capabilities: BlobCapabilities { get }

    /// True when neither opening nor reading ever blocks: memory, event-driven origins, and compositions of these. False,
    /// the default, for a source that cannot know before it opens; its readers can (``BlobReader/neverBlocks``).
    ///
    /// Constant, without I/O, on any thread.
    var neverBlocks: Bool { get }

    /// How the source is found again, if it has a locator; nil, the default, for one that lives in memory only.
    var locator: BlobLocator? { get }

    /// A short name for the path of layers in errors; the default is the name of the type.
    var layerName: String { get }

    /// What is known of the blob now, without reading it.
    ///
    /// - Throws: As ``openReader(at:matching:context:)``.
    func info(_ context: BlobContext) throws -> BlobInfo

    /// Opens a pass over the bytes from `byteOffset` on.
    ///
    /// - Parameters:
    ///   - byteOffset: 0 to the byte count; at the byte count the reader is at its end.
    ///   - validator: What the content must be; nil takes any.
    ///   - context: The terms, kept for the reader's life.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset past the end (from the first read when the byte count
    ///   is not known), ``BlobError/Code/changed`` when the content is not what `validator` says, and what the kind of
    ///   source brings.
    func openReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobReader
}

extension BlobInputStreamDataSource {
    /// Nil: the source lives in memory only.
    public var locator: BlobLocator? { nil }

    /// The name of the type, without what it is generic over.
    public var layerName: String { String(describing: Self.self).prefix { $0 != "<" }.description }

    /// False: calls may block.
    public var neverBlocks: Bool { false }

    /// Opens a pass over the bytes behind the guard: the one door for everything that takes a source.
    ///
    /// The guard enforces the contract of ``BlobReader``: a plugin that breaks it is reported as
    /// ``BlobError/Code/misbehavingPlugin`` instead of passing on wrong bytes. The reader reads with or without waiting;
    /// every error is a ``BlobError`` that tells operation, locator, offset and layers.
    ///
    /// - Parameters: As those of ``openReader(at:matching:context:)``.
    public func open(
        at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> BlobGuardedReader {
        try BlobGuardedReader(self, at: byteOffset, matching: validator, context: context)
    }

    /// What is known of the blob now; every error is a ``BlobError`` with its context.
    public func checkedInfo(_ context: BlobContext = BlobContext()) throws(BlobError) -> BlobInfo {
        do {
            try context.check()
            return try self.info(context)
        } catch {
            throw BlobError(wrapping: error)
                .passing(layer: self.layerName, operation: .info, locator: self.locator?.description)
        }
    }
}
