import BlobCore
import BlobPlatform
import CCurl

/// Runs all transfers of the process on one thread and on shared connections.
///
/// The first transfer starts the thread, which then remains and sleeps while there are no transfers.
final class TransferLoop: @unchecked Sendable {  // Safe: `inbox` has a lock; one thread uses the rest.
    typealias Job = @Sendable (TransferLoop) -> Void

    /// Waits for events of libcurl and of other sockets, up to the given number of milliseconds.
    typealias Wait = @Sendable (CurlMulti, Int, [curl_waitfd]) throws(BlobError) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        /// True while the thread waits for a job rather than for events.
        var isParked = false
    }

    /// The process's loop, or the error that prevented its creation.
    static let shared = Result<TransferLoop, BlobError> { () throws(BlobError) in try TransferLoop() }

    /// The longest time between two checks of the transfers' limits, because no event signals that a limit is exceeded.
    private static let longestWait = Duration.seconds(2)

    private let multi: CurlMulti
    private let wait: Wait
    /// The shared TLS sessions, which libcurl would otherwise keep for each request separately.
    private let sessions: UnsafeMutableRawPointer?
    /// Used only on the thread of the loop.
    let sockets = OpenSockets()
    /// Used only on the thread of the loop.
    var closingSockets = ClosingSockets()
    private let inbox = Locked(Inbox())
    private let jobSignal = WaitSignal()
    private var transfers: [UnsafeMutableRawPointer: any LoopTransfer] = [:]
    private var lookups = LookupLimiter()
    private var sinksToFlush: [ObjectIdentifier: any TransferSink] = [:]
    private var nextCheck = CompactInstant.now
    /// The time at which the current pass of the loop began, so that events need no system call. Used only on the
    /// thread of the loop.
    private(set) var time = CompactInstant.now

    init(
        wait: @escaping Wait = { (multi, time, others) throws(BlobError) in
            try multi.wait(milliseconds: time, for: others)
        }
    ) throws(BlobError) {
        (self.multi, self.wait) = (try CurlMulti(), wait)
        self.sessions = blob_curl_share_sessions()
        guard startThread(named: "BlobTransfer", { self.run() }) else {
            throw BlobError(.unavailable, "Could not start a thread for transfers.", isTransient: true)
        }
    }

    /// Runs `job` on the thread of the transfers without waiting for it.
    func perform(_ job: @escaping Job) {
        let (isFirst, isParked) = self.inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isParked = false }
            return (inbox.jobs.count == 1, inbox.isParked)
        }
        if isParked { self.jobSignal.signal() } else if isFirst { self.multi.wake() }
    }

    private func run() {
        // Writing to a TLS connection that the peer has closed would raise this signal.
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        while true {
            do throws(BlobError) {
                try self.runOnce()
            } catch {
                self.fail(error)
            }
        }
    }

    /// Performs all work that is possible, then waits for more.
    private func runOnce() throws(BlobError) {
        self.time = .now
        for job in self.takeJobs() { job(self) }
        while let transfer = self.lookups.next() { transfer.connect(self) }
        try self.multi.perform()
        while let (identity, code) = self.multi.takeResult() { self.end(identity, code) }
        for (identity, handle) in self.lookups.takeHandlesWithAddress() where self.transfers[identity] == nil {
            self.free(handle)
        }
        self.checkLimits()
        self.closingSockets.check()
        self.flush()
        guard !self.lookups.hasNext, self.inbox.withLock({ $0.jobs.isEmpty }) else { return }
        let isIdle = self.transfers.isEmpty && self.lookups.isEmpty
        let ends = [isIdle ? nil : self.nextCheck, self.closingSockets.deadline].compactMap { $0?.remaining }
        let time = ends.min() ?? .seconds(60)
        // Rounded up, so that the loop does not spin during the last millisecond.
        try self.wait(self.multi, Int((time.timeInterval * 1000).rounded(.up)), self.closingSockets.pollDescriptors)
    }

    private func takeJobs() -> [Job] {
        self.inbox.withLock { inbox in
            defer { inbox.jobs = [] }
            return inbox.jobs
        }
    }

    private func end(_ identity: UnsafeMutableRawPointer, _ code: CURLcode) {
        let handle = self.lookups.take(identity)
        if let transfer = self.transfers[identity] {
            transfer.finish(code, self)
        } else if let handle {
            self.free(handle)
        }
    }

    /// Ends all transfers after an error of libcurl itself, and waits for the next transfer, so that a persistent error
    /// occurs only once per transfer.
    private func fail(_ error: BlobError) {
        for transfer in Array(self.transfers.values) + self.lookups.takeQueue() { transfer.fail(error, self) }
        for handle in self.lookups.takeAll() { self.free(handle) }
        self.closingSockets.endAll()
        self.flush()
        let isParked = self.inbox.withLock { inbox in
            inbox.isParked = inbox.jobs.isEmpty
            return inbox.isParked
        }
        if isParked { _ = self.jobSignal.wait(for: nil) }
    }

    private func checkLimits() {
        guard self.time >= self.nextCheck else { return }
        self.nextCheck = self.time + Self.longestWait
        for transfer in Array(self.transfers.values) + self.lookups.waiting { transfer.checkLimits(self) }
    }

    // MARK: For transfers, on the thread of the loop

    /// Wakes the readers of the sinks that have changed since the last call.
    private func flush() {
        guard !self.sinksToFlush.isEmpty else { return }
        let sinks = self.sinksToFlush.values
        self.sinksToFlush = [:]
        for sink in sinks { sink.flush() }
    }

    func scheduleFlush(_ sink: any TransferSink) { self.sinksToFlush[ObjectIdentifier(sink)] = sink }

    /// Checks the limits of all transfers within `delay`.
    func check(within delay: Duration) {
        self.nextCheck = min(self.nextCheck, self.time + delay)
    }

    /// Calls ``LoopTransfer/connect(_:)`` once another lookup may start.
    func enqueue(_ transfer: any LoopTransfer) {
        self.lookups.enqueue(transfer)
        // Each check schedules the next one.
        transfer.checkLimits(self)
    }

    func add(_ handle: CurlHandle, _ transfer: any LoopTransfer) throws(BlobError) {
        self.sockets.observe(handle)
        if let sessions { handle.set(CURLOPT_SHARE, sessions) }
        guard let identity = handle.identity else { return }
        handle.receive(for: transfer)
        try self.multi.add(handle)
        self.transfers[identity] = transfer
        self.lookups.begin(identity, handle)
    }

    func remove(_ handle: CurlHandle) {
        guard let identity = handle.identity else { return }
        self.transfers[identity] = nil
        if !self.lookups.contains(identity) { self.free(handle) }
    }

    private func free(_ handle: CurlHandle) {
        self.multi.remove(handle)
        handle.close()
    }
}

/// A transfer that ``TransferLoop`` runs. All methods are called on the thread of the loop.
protocol LoopTransfer: AnyObject {
    /// Begins the request. Called once its lookup may start. Has no effect after the transfer has ended.
    func connect(_ loop: TransferLoop)

    /// Processes a line of the response head; returns false to end the request.
    func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool

    /// Processes bytes of the response body; returns their number, or a different number to pause or end the request.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Ends the request with libcurl's result.
    func finish(_ code: CURLcode, _ loop: TransferLoop)

    /// Ends the transfer because of an error that affects all transfers.
    func fail(_ error: BlobError, _ loop: TransferLoop)

    /// Ends the transfer if its time is up, or schedules the next call with ``TransferLoop/check(within:)``.
    ///
    /// Called for a new transfer, after any transfer has scheduled a check, and every two seconds.
    func checkLimits(_ loop: TransferLoop)
}

/// The transfers whose hosts are being looked up, and those that wait for a lookup.
///
/// libcurl starts a thread for each lookup that its cache cannot answer, and cannot stop it. A lookup therefore counts
/// towards the limit until it has finished, even if its transfer was cancelled.
struct LookupLimiter {
    /// The maximum number of concurrent lookups.
    static let maximumLookupCount = 32

    private var queue = Fifo<any LoopTransfer>()

    /// The requests whose host is not yet resolved.
    private var lookups: [UnsafeMutableRawPointer: CurlHandle] = [:]

    var isEmpty: Bool { self.queue.isEmpty && self.lookups.isEmpty }

    /// The waiting transfers, in order. Some may already have ended.
    var waiting: [any LoopTransfer] { self.queue.all }

    /// True if a waiting transfer can begin.
    var hasNext: Bool { !self.queue.isEmpty && self.lookups.count < Self.maximumLookupCount }

    mutating func enqueue(_ transfer: any LoopTransfer) { self.queue.append(transfer) }

    /// Removes and returns the next transfer to begin; nil if none is waiting or too many lookups are in progress.
    mutating func next() -> (any LoopTransfer)? { self.hasNext ? self.queue.popFirst() : nil }

    /// Removes and returns all waiting transfers.
    mutating func takeQueue() -> [any LoopTransfer] {
        defer { self.queue = Fifo() }
        return self.waiting
    }

    mutating func begin(_ identity: UnsafeMutableRawPointer, _ handle: CurlHandle) {
        self.lookups[identity] = handle
    }

    /// Returns true if a request must be kept until its lookup has finished.
    func contains(_ identity: UnsafeMutableRawPointer) -> Bool { self.lookups[identity] != nil }

    /// Removes and returns a request that has ended.
    mutating func take(_ identity: UnsafeMutableRawPointer) -> CurlHandle? {
        self.lookups.removeValue(forKey: identity)
    }

    /// Removes and returns the requests whose lookups have finished.
    mutating func takeHandlesWithAddress() -> [UnsafeMutableRawPointer: CurlHandle] {
        let found = self.lookups.filter(\.value.hasAddress)
        for identity in found.keys { self.lookups[identity] = nil }
        return found
    }

    /// Removes and returns all requests.
    mutating func takeAll() -> [CurlHandle] {
        defer { self.lookups = [:] }
        return Array(self.lookups.values)
    }
}
