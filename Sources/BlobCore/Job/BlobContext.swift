import BlobPlatform

/// The limits, the cancellation, the index policy and the event sink of one job, passed when a source is opened.
///
/// A value: copy it and change the copy. A reader keeps the context with which it was opened.
///
/// ```swift
/// let context = BlobContext(deadline: .now + .seconds(60), idleLimit: .seconds(10))
/// let data = try source.data(upTo: 1 << 20, context: context)
/// ```
public struct BlobContext: Sendable {
    /// The instant by which the whole job must be done; nil for no deadline. Later reads throw
    /// ``BlobError/Code/timedOut``.
    public var deadline: ContinuousClock.Instant? {
        get { self.compactDeadline?.instant }
        set { self.compactDeadline = newValue.map { CompactInstant($0) } }
    }

    private(set) var compactDeadline: CompactInstant?

    /// The longest time that a single step may wait for its first byte; nil for no limit.
    public var idleLimit: Duration?

    /// The cancellation of the job, after which a blocked call returns within one second.
    public var cancellation: BlobCancellation

    /// The policy for storing an index of the content for later reads; by default, no index is stored.
    public var index: BlobIndexPolicy

    /// The maximum size in bytes of a temporary copy of an archive, beyond which ``BlobError/Code/limitExceeded`` is
    /// thrown: 1 GiB by default.
    ///
    /// A zip or 7z is copied, once for all its members, only if its source has no random access, such as a pipe or a
    /// filter without an index. The copy is an unnamed file in the folder for temporary files.
    public var spoolLimit: Int64 = 1 << 30

    /// The maximum number of bytes that a filter may decode for each byte that it reads, at least 1; nil, the default,
    /// means no limit. Decoding more throws ``BlobError/Code/limitExceeded``.
    ///
    /// Set it for untrusted data, a few bytes of which may decode to any number of zeros. The limit applies to each
    /// filter and each compressed member, from the byte at which decoding began, and takes effect after the first
    /// mebibyte. Deflate data decodes to at most 1,032 times its length; 200 is a usual limit.
    public var ratioLimit: Int?

    /// The maximum memory in bytes for a decoder, beyond which ``BlobError/Code/limitExceeded`` is thrown: 128 MiB by
    /// default.
    ///
    /// The limit applies to each window, dictionary or model of LZMA, LZMA2, Zstandard or PPMd, and is checked before
    /// memory is allocated. Archives that were packed with the highest settings may need 256 MiB or more. Listing the
    /// members of an archive needs no decoder, and has its own bounds.
    public var memoryLimit: Int64 = 128 << 20

    /// True to let a helper process decode untrusted pictures and videos even if the system does not confine it. If
    /// false, the default, decoding then throws ``BlobError/Code/unavailable``. Archives have a separate isolation
    /// setting.
    public var allowsUnconfinedMedia = false

    /// A closure that returns the password of an archive, or nil if it is unknown; not set by default.
    ///
    /// Called with the locator of the archive, if it has one, before encrypted bytes are read: on the thread that reads
    /// them, where it may block, and again for each reader. Its errors become errors of the reader. Without a password,
    /// reading encrypted bytes throws ``BlobError/Code/encrypted``. A password is never part of an error, an event or
    /// an index.
    public var password: (@Sendable (_ archive: BlobLocator?) throws -> String?)? {
        get { self.passwords?.find }
        set { self.passwords = newValue.map { Passwords(find: $0) } }
    }

    private var passwords: Passwords?

    /// True if the job's reads may block the calling thread, as in synchronous consumers. For readers that can read
    /// with and without blocking. False by default.
    public var mayBlock = false

    /// True if the job reads several parts of a source at the same time, each over one connection: a prepared range is
    /// one request, regardless of its length. False by default.
    package var readsPartsInParallel = false

    /// False if the ends of layers are not reported, because a layer over them reports its own.
    package var reportsEnds = true

    /// The current activity of an observed job; nil, the default, for a job that is not observed.
    package var activity: BlobActivity?

    /// A closure that receives events, on the thread on which they occur; it must be quick and must not call the
    /// source.
    public var eventSink: (@Sendable (BlobEvent) -> Void)?

    /// Creates a context; by default, without time limits.
    public init(
        deadline: ContinuousClock.Instant? = nil, idleLimit: Duration? = nil,
        cancellation: BlobCancellation = BlobCancellation(), index: BlobIndexPolicy = .none,
        eventSink: (@Sendable (BlobEvent) -> Void)? = nil
    ) {
        self.compactDeadline = deadline.map { CompactInstant($0) }
        self.idleLimit = idleLimit
        self.cancellation = cancellation
        self.index = index
        self.eventSink = eventSink
    }

    /// Throws if the job must not continue.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` after cancellation, ``BlobError/Code/timedOut`` after the deadline.
    public func check() throws(BlobError) {
        guard !self.cancellation.isCancelled else {
            throw BlobError(.cancelled, "The job was cancelled.")
        }
        if let compactDeadline, CompactInstant.now >= compactDeadline {
            throw BlobError(.timedOut, "The deadline of the job has passed.")
        }
    }

    /// Throws if a filter has decoded more than ``ratioLimit`` allows. Filters call this before they decode more.
    ///
    /// - Parameters:
    ///   - decodedByteCount: The number of bytes decoded so far.
    ///   - byteCount: The number of bytes that were read for the decoded bytes.
    /// - Throws: ``BlobError/Code/limitExceeded``.
    public func checkRatio(ofDecoded decodedByteCount: Int64, to byteCount: Int64) throws(BlobError) {
        guard let ratioLimit, decodedByteCount > Self.uncheckedByteCount,
            (decodedByteCount - 1) / Int64(max(ratioLimit, 1)) >= byteCount
        else { return }
        throw BlobError(
            .limitExceeded,
            "The first \(byteCount) bytes decode to \(decodedByteCount) or more, which exceeds the ratio limit of "
                + "\(ratioLimit) to 1.", remedy: .ratioLimit)
    }

    /// Throws if a decoder needs more memory than ``memoryLimit`` allows. Filters call this before they allocate it.
    ///
    /// - Parameter consumer: The beginning of the message, such as `The member`.
    /// - Throws: ``BlobError/Code/limitExceeded``.
    package func checkMemory(_ byteCount: UInt64, for consumer: String) throws(BlobError) {
        guard byteCount > UInt64(max(self.memoryLimit, 0)) else { return }
        throw BlobError(
            .limitExceeded,
            "\(consumer) needs \(byteCount) bytes of memory to be decoded, which exceeds the limit of "
                + "\(self.memoryLimit) bytes.", remedy: .memoryLimit)
    }

    /// The number of decoded bytes after which ``ratioLimit`` applies; fewer are harmless.
    private static let uncheckedByteCount: Int64 = 1 << 20

    /// This context, for reads that may block.
    package var blocking: BlobContext {
        var context = self
        context.mayBlock = true
        return context
    }

    /// Returns true if both contexts have the same limits, so that a reader opened with one serves the other.
    package func hasSameLimits(as other: BlobContext) -> Bool {
        self.compactDeadline == other.compactDeadline && self.idleLimit == other.idleLimit
            && self.mayBlock == other.mayBlock
            && self.spoolLimit == other.spoolLimit && self.ratioLimit == other.ratioLimit
            && self.memoryLimit == other.memoryLimit
            && self.passwords === other.passwords
    }

    /// Returns this context with a child of its cancellation.
    public func makeChild() -> BlobContext {
        var child = self
        child.cancellation = self.cancellation.makeChild()
        return child
    }

    /// Returns the limit for the first byte of a step that begins now.
    package func stepLimit() -> StepLimit {
        let idleEnd = self.idleLimit.map { CompactInstant(.now.advanced(by: $0)) }
        guard let deadline = self.compactDeadline else { return StepLimit(deadline: idleEnd, isIdleLimit: true) }
        guard let idleEnd, idleEnd < deadline else { return StepLimit(deadline: deadline, isIdleLimit: false) }
        return StepLimit(deadline: idleEnd, isIdleLimit: true)
    }

    package struct StepLimit {
        package let deadline: CompactInstant?
        package let isIdleLimit: Bool

        /// The time that remains, at least zero; nil for no limit.
        package var remaining: Duration? { self.deadline?.remaining }

        package func error(idleLimit: Duration?) -> BlobError {
            guard self.isIdleLimit, let idleLimit else {
                return BlobError(.timedOut, "The deadline of the job has passed.")
            }
            return BlobError(
                .timedOut, "No bytes were transferred within the idle limit of \(idleLimit).", remedy: .idleLimit)
        }
    }

    /// Blocks until `condition` returns a value; it is checked again after each signal.
    ///
    /// - Throws: ``BlobError/Code/cancelled``; ``BlobError/Code/timedOut`` at the deadline or at the idle limit; the
    ///   errors of `condition`.
    package func wait<Value>(
        on signal: WaitSignal, until condition: () throws(BlobError) -> Value?
    ) throws(BlobError) -> Value {
        let limit = self.stepLimit()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while true {
            try self.check()
            if let value = try condition() { return value }
            guard signal.wait(for: limit.remaining) else {
                if let value = try condition() { return value }
                throw limit.error(idleLimit: self.idleLimit)
            }
        }
    }

    /// Blocks until `descriptor` has bytes to read, its other end is closed, or the job is over.
    ///
    /// For plugins that would otherwise block in `read(2)`. The descriptor may be in blocking mode. Costs one system
    /// call if bytes are available; otherwise the wait parks the descriptor, see ``park(_:_:)``.
    ///
    /// - Throws: ``BlobError/Code/cancelled``, ``BlobError/Code/timedOut``, or ``BlobError/Code/io``.
    public func waitReadable(_ descriptor: CInt) throws(BlobError) {
        try self.check()
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, 0) > 0, request.revents & Int16(POLLNVAL) == 0 { return }
        let signal = WaitSignal()
        let isReady = Locked(false)
        let parking = try self.park(
            descriptor,
            BlobWaker {
                isReady.withLock { $0 = true }
                signal.signal()
            })
        defer { parking.cancel() }
        try self.wait(on: signal) { isReady.withLock { $0 } ? () : nil }
    }

    /// Reads the next bytes of a descriptor, waiting for them as ``waitReadable(_:)`` does.
    ///
    /// - Returns: ``BlobReadResult/end`` at the end of a file, or if the other end is closed.
    /// - Throws: The errors of ``waitReadable(_:)``, and ``BlobError/Code/io`` with the `errno` of `read(2)`.
    public func read(_ descriptor: CInt, into output: inout OutputRawSpan) throws(BlobError) -> BlobReadResult {
        while true {
            try self.waitReadable(descriptor)
            let count = output.append { BlobPlatform.read(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count > 0 ? .bytes : .end }
            // Another reader of the same description was faster, or a signal arrived.
            guard errno == EAGAIN || errno == EINTR else {
                throw BlobError(systemError: errno, doing: "Could not read from a descriptor")
            }
        }
    }

    /// Waits for the duration; throws if the job is cancelled or times out first.
    package func pause(for duration: Duration) throws(BlobError) {
        let end = ContinuousClock.now + duration
        let signal = WaitSignal()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while ContinuousClock.now < end {
            try self.check()
            _ = signal.wait(for: min(end, self.deadline ?? end) - .now)
        }
        try self.check()
    }

    /// Calls `waker` once, when `descriptor` is readable, hung up or in error.
    ///
    /// For reads that would otherwise block. One thread of the process waits for all descriptors; it neither reads them
    /// nor changes their flags, so they may be in blocking mode. The waker is called on that thread, must not block it,
    /// and may park again or remove registrations. A descriptor may be parked several times at once; the wakers of all
    /// its parkings are called.
    ///
    /// For regular files, and for devices that cannot be waited for, the waker is called at once, before this returns.
    /// On Linux, a FIFO without a writer is not readable until it has had one; Apple's systems report it as hung up.
    ///
    /// - Parameters:
    ///   - descriptor: A descriptor that is open for reading. Unless the waker was called, the registration must be
    ///     removed before the descriptor is closed: the waker could otherwise be called for another file with the same
    ///     number, or never.
    ///   - waker: The waker, which is called at most once. Cancellation and limits of the context do not call it.
    /// - Returns: A registration that keeps the descriptor parked for as long as it is retained. A call that has begun
    ///   when the registration is removed may still be running.
    /// - Throws: ``BlobError/Code/io`` with ``BlobError/systemErrorNumber``: `EBADF` for a descriptor that is not open;
    ///   transient when the process or the system has too many open files.
    /// - Complexity: One or two system calls, and some 300 bytes while it is parked.
    public func park(_ descriptor: CInt, _ waker: BlobWaker) throws(BlobError) -> BlobRegistration {
        try EventLoop.shared.park(descriptor, waker)
    }

    /// Calls `waker` once, after `delay`.
    ///
    /// The waker is called on the thread that waits for parked descriptors, and must not block it: see ``park(_:_:)``.
    /// Time during which the machine sleeps may not be counted.
    ///
    /// - Parameters:
    ///   - delay: The delay; zero or less means as soon as possible. Accurate to the millisecond, and never shortened.
    ///   - waker: The waker, which is called at most once, and early only if the system cannot start a thread.
    /// - Returns: A registration that keeps the timer running for as long as it is retained;
    ///   ``BlobRegistration/cancel()`` cancels it and frees its memory.
    /// - Complexity: O(log n) for n timers.
    public func wake(after delay: Duration, _ waker: BlobWaker) -> BlobRegistration {
        EventLoop.shared.wake(after: delay, waker)
    }
}

/// A closure with an identity, so that two contexts can be compared.
private final class Passwords: Sendable {
    let find: @Sendable (BlobLocator?) throws -> String?

    init(find: @escaping @Sendable (BlobLocator?) throws -> String?) { self.find = find }
}

/// A timed wait of a stream, whose reads return `notYet` until the wait is over.
package final class TimerWait {
    /// Fires once the wait is over.
    package let slot: BlobWakerSlot
    private let hasFired = Locked(false)
    private let timer: BlobRegistration

    /// Starts a wait for a delay.
    ///
    /// - Parameter slot: The slot that fires; a new one by default.
    package init(_ delay: Duration, _ context: BlobContext, firing slot: BlobWakerSlot = BlobWakerSlot()) {
        self.slot = slot
        self.timer = context.wake(
            after: delay,
            BlobWaker { [hasFired] in
                _ = hasFired.exchange(true)
                slot.fire()
            })
    }

    package var isOver: Bool { self.hasFired.withLock { $0 } }
}

/// The location in which indexes are stored.
///
/// An index records the facts that a source learned about its content while reading, so that the next read finds any
/// byte of a gzip, or any member of an archive, at once.
///
/// An index is a cache. It is used only for the content from which it was made, and only if it belongs to this user; a
/// stale, damaged or missing index costs time and never gives wrong bytes. <doc:IndexFiles> explains what reading with
/// an index verifies, and specifies the format of the files.
public struct BlobIndexPolicy: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case none, automatic
        case folder(String, maximumByteCount: Int64)
        case file(String)
    }

    package let place: Place

    /// No index is read or written.
    public static let none = Self(place: .none)

    /// The user's cache folder, with at most 1 GiB of index files; failures to write there are ignored.
    ///
    /// The folder is `blob-indexes` in `$XDG_CACHE_HOME` or `~/.cache`, on Apple's systems in `~/Library/Caches`; a
    /// missing home folder is not created. Only for sources that have a locator.
    public static let automatic = Self(place: .automatic)

    /// A folder, which is created for this user alone if it is missing.
    ///
    /// A folder that is a link, belongs to another user or is writable by others is not used. Only for sources that
    /// have a locator.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - maximumByteCount: The maximum total size of the index files in the folder in bytes; the least recently used
    ///     files are removed first.
    public static func folder(_ path: String, maximumByteCount: Int64) -> Self {
        Self(place: .folder(path, maximumByteCount: maximumByteCount))
    }

    /// A file, regardless of the locator of the content.
    ///
    /// Reading creates the file if it is missing, and otherwise leaves it unchanged. ``BlobIndexing/buildIndex(_:)``
    /// replaces a stale or damaged index; a file that is not an index of this user is not overwritten, and the error is
    /// ``BlobError/Code/inconsistent``.
    public static func file(_ path: String) -> Self { Self(place: .file(path)) }

    /// The maximum total size of the index files of ``automatic``, in bytes: 1 GiB.
    package static let automaticMaximumByteCount: Int64 = 1 << 30
}
