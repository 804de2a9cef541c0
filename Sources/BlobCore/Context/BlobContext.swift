/// The terms of one job, given once, when something is opened: how long it may take, who can stop it, who is told.
///
/// A value: copy it and change the copy. Readers keep the one that they were opened with.
public struct BlobContext: Sendable {
    /// When the whole job must be done; nil is never. Reads after it throw ``BlobError/Code/timedOut``.
    public var deadline: ContinuousClock.Instant? {
        get { self.lastMoment?.instant }
        set { self.lastMoment = newValue.map { Moment($0) } }
    }

    private(set) var lastMoment: Moment?

    /// How long a single step may wait for its first byte; nil is for ever.
    public var idleLimit: Duration?

    /// Stops the job. A blocked call returns within one second.
    public var cancellation: BlobCancellation

    /// Where what is learned of the content is kept for the next time; by default nowhere.
    public var index: BlobIndexPolicy

    /// Whether the job's reads may block the thread that they are made on, as those of synchronous consumers may. A reader
    /// that can read with and without blocking looks at it. False by default.
    public var mayBlock = false

    /// Told of events, on the thread they happen on; must be quick and must not call back into the source.
    public var eventSink: (@Sendable (BlobEvent) -> Void)?

    /// Creates a context; the default waits for ever.
    public init(
        deadline: ContinuousClock.Instant? = nil, idleLimit: Duration? = nil,
        cancellation: BlobCancellation = BlobCancellation(), index: BlobIndexPolicy = .none,
        eventSink: (@Sendable (BlobEvent) -> Void)? = nil
    ) {
        self.lastMoment = deadline.map { Moment($0) }
        self.idleLimit = idleLimit
        self.cancellation = cancellation
        self.index = index
        self.eventSink = eventSink
    }

    /// Throws when the job should not go on.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` after cancellation, ``BlobError/Code/timedOut`` after the deadline.
    public func check() throws(BlobError) {
        guard !self.cancellation.isCancelled else {
            throw BlobError(.cancelled, "The job was cancelled.")
        }
        if let lastMoment, Moment.now >= lastMoment {
            throw BlobError(.timedOut, "The deadline of the job passed.")
        }
    }

    /// Calls `handler` once when the job is cancelled; see ``BlobCancellation/onCancel(_:)``.
    public func onCancel(_ handler: @escaping @Sendable () -> Void) -> BlobRegistration {
        self.cancellation.onCancel(handler)
    }

    /// This context for reads that may block.
    package var blocking: BlobContext {
        var context = self
        context.mayBlock = true
        return context
    }

    /// This context with a cancellation of its own that follows this one's.
    public func makeChild() -> BlobContext {
        var child = self
        child.cancellation = self.cancellation.makeChild()
        return child
    }
}
