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
    /// The abilities of the source. Constant, in constant time, without I/O, on any thread.
    var traits: BlobTraits { get }

    /// The locator that leads to this source; nil, the default, for one that lives in memory only.
    ///
    /// In constant time, without I/O, on any thread.
    var locator: BlobLocator? { get }

    /// Returns the facts known about the blob without reading it. May block, unless the source never does.
    ///
    /// Called by the framework; users call ``info(_:)``.
    ///
    /// - Throws: As ``makeReader(at:matching:context:)``.
    func describe(_ context: BlobContext) throws -> BlobInfo

    /// Opens a pass over the bytes from `byteOffset` on.
    ///
    /// Called by the framework; users call ``open(at:matching:context:)``.
    ///
    /// - Parameters:
    ///   - byteOffset: 0 to the byte count; at the byte count the reader is at its end.
    ///   - validator: The identity that the content must have; nil accepts any.
    ///   - context: The terms of the job, kept for the reader's life.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset past the end (from the first read when the byte count
    ///   is not known), ``BlobError/Code/changed`` when the content is not what `validator` says, and what the kind of
    ///   source brings.
    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobReader
}

extension BlobInputStreamDataSource {
    /// Nil: the source lives in memory only.
    public var locator: BlobLocator? { nil }

}
