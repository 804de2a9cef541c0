import Foundation

/// All state of a ``BlobInputStream``, for every thread, behind the lock of `state`.
final class BlobStreamEngine: StreamEngine, @unchecked Sendable {  // Safe: what changes is only touched in `change`.
    let state = BlobObservable(
        BlobStreamState(), coalescing: { $0.differsOnlyInProgress(from: $1) }, isLast: { $0.phase == .closed })
    let source: any BlobInputStreamDataSource
    let mode: BlobStreamMode
    let context: BlobContext
    weak var face: BlobInputStream?  // Set once, before the stream is anybody's.

    /// The opening that is under way or being read.
    var pass: StreamPass?
    /// Where reading began; opening again at the end begins there.
    var startOffset: Int64 = 0
    /// Of the content that was opened first, for opening it again.
    var validator: BlobValidator?
    var declaredByteCount: Int64?
    /// Kept until the next call of the stream, which may come after the reader is gone.
    var lentWindow: LentWindow?
    /// Why the last read was turned down, before opening or after closing.
    private var refusal: BlobError?
    var waitForBytes = WaitLimit()
    private var events = StreamEvents()
    private var waiters: [WaitSignal] = []

    init(_ source: any BlobInputStreamDataSource, _ mode: BlobStreamMode, _ context: BlobContext) {
        self.source = source
        self.mode = mode
        self.context = context
    }

    var stream: (any Stream & StreamDelegate)? { self.face }

    func withEvents<Result>(_ body: (inout StreamEvents, (Stream.Event) -> Bool) -> Result) -> Result {
        self.state.withValue { state in
            body(&self.events) { event in
                switch event {
                case .hasBytesAvailable: state.hasBytesAvailable
                case .errorOccurred: state.phase == .failed
                case .endEncountered: state.phase == .atEnd
                default: true
                }
            }
        }
    }

    /// Runs `body` under the lock, does outside of it what it left to do, and tells the observers last: one may take its
    /// time, or call the stream.
    ///
    /// So nothing may be half-done then that is for the calling thread to finish and for others to wait for: `body` takes
    /// the reader only where observers see no change, and a thread that may be using the reader tells nobody.
    func change<Result>(
        delivers: Bool = true, _ body: (inout BlobStreamState, inout Aftermath) -> Result
    ) -> Result {
        var aftermath = Aftermath()
        let result = self.state.updateWithoutDelivering { body(&$0, &aftermath) }
        aftermath.attend()
        if delivers { self.state.deliver() }
        return result
    }

    var error: BlobError? { self.state.withValue { $0.error ?? self.refusal } }

    /// Where a copy of the stream begins.
    var firstOffset: Int64 {
        self.state.withValue { $0.phase == .notOpen ? $0.byteOffset : self.startOffset }
    }

    var status: Stream.Status {
        self.state.withValue { state in
            switch state.phase {
            case .notOpen: .notOpen
            case .opening: .opening
            case .open: self.pass?.isBusy == true ? .reading : .open
            case .atEnd: .atEnd
            case .failed: .error
            case .closed: .closed
            }
        }
    }

    /// Ends everything, for good. Before opening it does nothing, unless `evenUnopened`.
    func close(evenUnopened: Bool = false) {
        self.change { state, aftermath in
            guard state.phase != .notOpen || evenUnopened else { return }
            state.phase = .closed
            state.hasBytesAvailable = false
            aftermath.window = self.takeLentWindow()
            self.endPass(&aftermath)
            aftermath.sourcesToInvalidate = self.events.removeAll()
        }
    }

    /// Fails the stream from outside of a read.
    func fail(_ error: BlobError, in pass: StreamPass?) {
        self.change { state, aftermath in
            if pass == nil || self.pass === pass { self.fail(error, &state, &aftermath) }
        }
    }

    // MARK: Under the lock

    func fail(_ error: BlobError, _ state: inout BlobStreamState, _ aftermath: inout Aftermath) {
        guard state.phase != .closed, state.phase != .failed else { return }
        state.phase = .failed
        state.error = error.passing(
            layer: "BlobInputStream", operation: state.isOpenCompleted ? .read : .open, locator: nil,
            byteOffset: state.byteOffset)
        state.hasBytesAvailable = false
        self.endPass(&aftermath)
        self.post(.errorOccurred, &aftermath)
    }

    func end(_ state: inout BlobStreamState, _ aftermath: inout Aftermath) {
        state.phase = .atEnd
        state.isAtEnd = true
        state.hasBytesAvailable = false
        state.byteCount = state.byteOffset
        self.endPass(&aftermath)
        self.post(.endEncountered, &aftermath)
    }

    /// Lets go of the reader and of whoever waits for it.
    func endPass(_ aftermath: inout Aftermath) {
        self.wakeWaiters(&aftermath)
        self.events.drop(.hasBytesAvailable)
        self.waitForBytes.end()
        guard let pass = self.pass else { return }
        self.pass = nil
        aftermath.pass = pass
        aftermath.observation = pass.observation
        // Whoever is busy with the reader closes it.
        if !pass.isBusy { aftermath.reader = pass.reader }
    }

    func post(_ event: Stream.Event, _ aftermath: inout Aftermath) {
        aftermath.sourcesToSignal = self.events.post(event)
    }

    var isScheduled: Bool { !self.events.sources.isEmpty }

    func dropEvents(_ dropped: Stream.Event) { self.events.drop(dropped) }

    func refuse(_ state: BlobStreamState) {
        let step = state.phase == .closed ? "closed" : "not open"
        self.refusal = BlobError(.closed, "The stream is \(step).", operation: .read, byteOffset: state.byteOffset)
    }

    func takeLentWindow() -> LentWindow? {
        defer { self.lentWindow = nil }
        return self.lentWindow
    }

    func addWaiter(_ waiter: WaitSignal) { self.waiters.append(waiter) }

    func wakeWaiters(_ aftermath: inout Aftermath) {
        guard !self.waiters.isEmpty else { return }
        aftermath.waiters = self.waiters
        self.waiters = []
    }
}
