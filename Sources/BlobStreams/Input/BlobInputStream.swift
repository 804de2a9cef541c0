public import Foundation

/// The mode of a stream, which determines whether its calls wait for the source.
public enum BlobStreamMode: Sendable {
    /// Each call completes its work before it returns. For HTTP request bodies, and for read loops on threads that may
    /// wait.
    case synchronous
    /// Opening returns at once, and events report the outcome; only a read of a stream without available bytes waits,
    /// as in Foundation's streams. For delegates on run loops.
    case asynchronous
}

/// A seekable, replayable and observable Foundation `InputStream` over any data source.
///
/// A read into a buffer that is not empty returns 0 only after every byte has arrived and every check at the end has
/// passed; any other end of the stream makes it return -1, with the ``BlobError`` in `streamError` and ``state``.
///
/// ```swift
/// let stream = BlobInputStream(source)
/// stream.open()
/// var buffer = [UInt8](repeating: 0, count: 64 * 1024)
/// while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 {
///     print("\(count) bytes, up to byte \(stream.state.value.byteOffset)")
/// }
/// if let error = stream.streamError { throw error }
/// stream.close()
/// ```
///
/// ## Threads
///
/// Every member may be called on any thread, on several threads at once, and in the handlers of the stream's own
/// delegate and observers; the documentation of each says whether it waits. Concurrent reads receive different bytes:
/// no byte is returned twice. ``close()`` and the cancellation of the context end a read that is waiting on another
/// thread.
///
/// ## Life cycle
///
/// Opening produces the event `openCompleted` and, if bytes are available, `hasBytesAvailable`, or it produces
/// `errorOccurred`. Each read that leaves bytes produces `hasBytesAvailable`, and the last read produces
/// `endEncountered`. A delegate receives the events on the run loops on which the stream is scheduled: each event once,
/// in this order, on the first run loop that reaches it. Events are delivered only while the stream is scheduled, and
/// never after closing. Undelivered events are held until the stream is scheduled; events that were already delivered
/// are not repeated for a delegate that is set later.
///
/// Opening again at the end starts over at the offset of the first opening, if the source is repeatable. Opening again
/// in the middle of the bytes is an error, because the caller expects the start. The resources of the stream are freed
/// at the end, after an error, by ``close()`` and with the stream.
open class BlobInputStream: InputStream, StreamDelegate {
    private let engine: BlobStreamEngine

    /// Creates an unopened stream.
    ///
    /// - Parameters:
    ///   - source: The source of the bytes.
    ///   - mode: The mode, which determines whether calls wait.
    ///   - context: The context of the stream. Its deadline and cancellation apply to the whole lifetime of the stream,
    ///     its idle limit to each wait for the next byte.
    public init(
        _ source: any BlobInputStreamDataSource, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) {
        self.engine = BlobStreamEngine(source, mode, context)
        super.init(data: Data())
        self.engine.inputStream = self
    }

    deinit { self.engine.close(includingUnopened: true) }

    /// The state of the stream, which can be read and observed on any thread. Never waits.
    public var state: BlobObservable<BlobStreamState> { self.engine.state }

    /// A handle to the stream that can be passed to other threads and tasks. Any thread may call this; it never waits.
    public var control: BlobStreamControl { BlobStreamControl(engine: self.engine) }

    /// Returns an unopened stream over the same source, in the same mode and at the same first offset; for requests
    /// that must send their body again. Any thread may call this.
    public func unopenedCopy() -> BlobInputStream {
        let copy = BlobInputStream(self.engine.source, mode: self.engine.mode, context: self.engine.context)
        _ = copy.engine.setOffset(self.engine.firstOffset)
        return copy
    }

    /// Sets the handler that is called when the stream fails or is closed, after which no more bytes are read. Must be
    /// set before the stream is used.
    func onEnded(_ handler: @escaping @Sendable () -> Void) { self.engine.onEnded = handler }

    // MARK: InputStream

    /// Reads the next bytes. Any thread may call this; it waits while the stream is opening or has no bytes, and while
    /// another thread reads.
    ///
    /// - Returns: The number of bytes read, at least 1; 0 at the end, or if `length` is 0; -1 after an error, before
    ///   opening and after closing.
    open override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    /// Lends the bytes in memory until the next call of the stream, without consuming them.
    ///
    /// If the stream ends for another reason, such as a cancellation, the memory remains valid. Any thread may call
    /// this, but only one caller holds the memory: with several callers, each call ends the previous loan. Never waits.
    ///
    /// - Returns: False if no bytes are in memory. In synchronous mode, bytes are in memory after a read of less than
    ///   16 KiB, and if the source never blocks.
    open override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        guard let window = self.engine.lendWindow() else { return false }
        // Foundation's signature is mutable; writing to the memory changes the bytes that are read.
        buffer.pointee = UnsafeMutablePointer(mutating: window.baseAddress?.assumingMemoryBound(to: UInt8.self))
        length.pointee = window.count
        return true
    }

    /// True from opening until the end is known, and after an error.
    ///
    /// Callers that poll, such as `URLSession` on Linux, interpret false as the end.
    /// ``BlobStreamState/hasBytesAvailable`` shows whether a read would wait. Any thread may call this; it never waits.
    open override var hasBytesAvailable: Bool {
        switch self.state.value.phase {
        case .opening, .open, .failed: true
        case .notOpen, .atEnd, .closed: false
        }
    }

    // MARK: Stream

    /// Opens the stream, or starts over at its end; see the description of the type. Any thread may call this; in
    /// synchronous mode it waits for the source.
    open override func open() { self.engine.open() }

    /// Closes the stream permanently, in any phase; does nothing before opening.
    ///
    /// Removes the stream from its run loops. Any thread may call this; in synchronous mode the reader is closed before
    /// this returns, unless another thread is using it.
    ///
    /// Observers of ``state`` receive all states up to ``BlobStreamState/Phase/closed``, even if the stream is released
    /// right after this call: on this thread before the call returns or, while another thread notifies them, on that
    /// thread afterwards. If a token is released earlier, its observer does not receive the remaining states: keep the
    /// token until the observer has received `closed`, or iterate ``BlobObservable/states``.
    open override func close() { self.engine.close() }

    /// The status of the stream; `reading` while a read runs. Any thread may call this; it never waits.
    ///
    /// As in Foundation's own streams, a stream opened without bytes is `open`, and becomes `atEnd` only after a read
    /// or the event for its end.
    open override var streamStatus: Stream.Status { self.engine.status }

    /// The ``BlobError`` that ended the stream, or that made the last read fail before opening or after closing. Any
    /// thread may call this; it never waits.
    open override var streamError: (any Error)? { self.engine.error }

    /// The delegate that receives the events, not retained. It is the stream itself by default, and again after it is
    /// set to nil. Any thread may set it; a call to the old delegate may still be running.
    open override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    /// Delivers events on `runLoop` in `mode`, and keeps it running, until the stream is removed from it or closed;
    /// does nothing after closing. Any thread may call this for any run loop; for another thread's run loop, it takes
    /// effect when that run loop runs next, at the latest.
    open override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    /// Reverts ``schedule(in:forMode:)``. Any thread may call this; a call to the delegate may still be running on
    /// another thread.
    open override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// Returns the offset of the next byte, as a number, for `.fileCurrentOffsetKey`.
    ///
    /// Other keys are passed to the ``BlobPropertySource`` that the stream reads, if any. Any thread may call this.
    open override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        if key == .fileCurrentOffsetKey { return NSNumber(value: self.state.value.byteOffset) }
        return self.propertySource?.property(forKey: key).map { $0 as BlobStreamProperty }
    }

    /// Sets the offset at which reading begins or continues, in bytes from 0 to the length, for
    /// `.fileCurrentOffsetKey`. Other keys are passed to the ``BlobPropertySource`` that the stream reads, if any.
    ///
    /// A stream at its end is open again after its offset is set back. In synchronous mode, the source is opened at the
    /// offset before this returns; in asynchronous mode, and before opening, an offset that turns out to be past the
    /// end is an error of the stream. Setting the same offset costs nothing. As after a read, the delegate receives
    /// `hasBytesAvailable` if there are bytes at the offset. Any thread may call this; in synchronous mode it waits for
    /// the source.
    ///
    /// - Returns: False if the offset is refused: it is not a number, is negative or past the length, the source cannot
    ///   be opened there or again, its content changed, or the stream is closed, failed, or at its end and cancelled.
    ///   The stream is then unchanged.
    open override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool {
        guard key == .fileCurrentOffsetKey else {
            return self.propertySource?.setProperty(property, forKey: key) ?? false
        }
        guard let number = property as? NSNumber, let offset = Int64(exactly: number) else { return false }
        return self.engine.setOffset(offset)
    }

    private var propertySource: (any BlobPropertySource)? {
        self.engine.source.first(ofType: (any BlobPropertySource).self)
    }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set. For subclasses to override; called on the run
    /// loops on which the stream is scheduled, by one thread at a time.
    open func stream(_ stream: Stream, handle event: Stream.Event) {}

    /// Creates a stream over the source that a locator names.
    ///
    /// - Parameters:
    ///   - locator: A locator or a path, as interpreted by ``BlobRegistry/locator(for:)``.
    ///   - registry: The registry that resolves the locator; `BlobRegistry.standard` of `BlobStreamsStandard` contains
    ///     the plugins of this package.
    ///   - mode: The mode, which determines whether calls wait.
    ///   - context: The context in which the locator is resolved and the stream works.
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the plugins. An
    ///   error of the source itself is reported when the stream is opened, unless resolving the locator has to read the
    ///   source.
    public convenience init(
        _ locator: String, registry: BlobRegistry, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) throws {
        self.init(try registry.source(for: locator, context: context), mode: mode, context: context)
    }

    /// Creates a stream over an asset, asynchronous for a delegate on a run loop unless `asynchronous` is false.
    ///
    /// The body of a `URLRequest` and a part of a multipart form are read as synchronous streams.
    ///
    /// - Throws: The errors of ``init(_:registry:mode:context:)``.
    public convenience init(
        assetURL: URL, asynchronous: Bool = true, registry: BlobRegistry, context: BlobContext = BlobContext()
    ) throws {
        let mode = asynchronous ? BlobStreamMode.asynchronous : .synchronous
        try self.init(assetURL.absoluteString, registry: registry, mode: mode, context: context)
    }
}

/// A source with stream properties other than the offset. ``BlobInputStream`` forwards these properties to it through
/// all layers, before and after it is opened. Any thread may call it.
public protocol BlobPropertySource: BlobInputStreamDataSource {
    /// Returns the value of a property; nil if the source does not have it.
    func property(forKey key: Stream.PropertyKey) -> Any?

    /// Sets a property.
    ///
    /// - Returns: False if the source does not have the property or refuses the value.
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool
}

/// A handle to a ``BlobInputStream`` that can be passed to other threads and tasks.
///
/// The stream object itself is a Foundation class and stays with its owner. Every member may be called on any thread.
public struct BlobStreamControl: Sendable {
    let engine: BlobStreamEngine

    /// The state of the stream, which can be read and observed.
    public var state: BlobObservable<BlobStreamState> { self.engine.state }

    /// Ends the stream as a cancellation does: a waiting read returns -1, with ``BlobError/Code/cancelled``. A stream
    /// at its end remains there, and cannot be opened again.
    public func cancel() { self.engine.cancel() }

    /// Sets the offset at which reading begins or continues; see ``BlobInputStream/setProperty(_:forKey:)``.
    ///
    /// - Parameter byteOffset: The offset in bytes, from 0 to the length.
    /// - Returns: False if the offset is refused; the stream is then unchanged.
    @discardableResult
    public func setOffset(_ byteOffset: Int64) -> Bool { self.engine.setOffset(byteOffset) }
}

/// The observable state of a ``BlobInputStream``.
///
/// Every observer receives each phase, error, interruption and recovery. For a slow observer, queued changes of
/// ``byteOffset`` and ``hasBytesAvailable`` alone are coalesced into the last one.
public struct BlobStreamState: Equatable, Sendable {
    /// The phases of a stream's life. ``closed`` is final.
    public enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Being opened.
        case opening
        /// Open; reads return bytes.
        case open
        /// All bytes were read and every check at the end passed. Opening again or setting the offset leaves this
        /// phase.
        case atEnd
        /// Failed permanently; see ``BlobStreamState/error``.
        case failed
        /// Closed permanently.
        case closed
    }

    /// The stages of an interruption, after which the source continues, or the stream fails.
    public enum Interruption: Sendable {
        /// The content or its location changed; it is not known yet whether it is still the same content.
        case invalidated
        /// The source is looking for the content, or waits before it tries again.
        case recovering
    }

    /// The current phase of the stream.
    public var phase = Phase.notOpen

    /// True once the source has been opened; also at the end, after an error and after closing. Opening again resets
    /// it.
    public var isOpenCompleted = false

    /// True if a read would return bytes without waiting. In synchronous mode over a source that blocks, it is true
    /// until the end is reached.
    public var hasBytesAvailable = false

    /// True if all bytes have been read.
    public var isAtEnd = false

    /// The error that ended the stream; nil unless it failed.
    public var error: BlobError?

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 = 0

    /// The length of the blob in bytes; nil while it is unknown.
    public var byteCount: Int64?

    /// The number of times that the source recovered after its content was unreachable for a while.
    public var recoveryCount = 0

    /// The stage of the current interruption; nil without an interruption. Setting the offset, a failure, the end and
    /// closing also end an interruption.
    ///
    /// Reported as soon as the source notices it, even if no call is reading.
    public var interruption: Interruption?

    /// True from the loss of the content until reading resumes.
    public var isRecovering: Bool { self.interruption != nil }

    package init() {}

    /// True if `other` differs at most in the offset and in whether bytes are available.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        copy.byteOffset = other.byteOffset
        copy.hasBytesAvailable = other.hasBytesAvailable
        return copy == other
    }
}
