import BlobCore
import BlobPlatform
import CCurl

/// The thread that runs all transfers of the process, on connections that they share.
///
/// Started by the first transfer; it then stays, and costs nothing without transfers.
final class TransferLoop: @unchecked Sendable {  // Safe: `inbox` has a lock, the rest one thread.
    typealias Job = @Sendable (TransferLoop) -> Void

    /// Waits for events, and for those of other sockets, for a number of milliseconds at most.
    typealias Wait = @Sendable (CurlMulti, Int, [curl_waitfd]) throws(BlobError) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        /// True while the thread waits for a job, and not for events.
        var isParked = false
    }

    /// The loop of the process, or the error for which there is none.
    static let shared = Result<TransferLoop, BlobError> { () throws(BlobError) in try TransferLoop() }

    /// The longest time between two checks of the limits of transfers, which no event announces.
    private static let longestWait = Duration.seconds(2)

    private let multi: CurlMulti
    private let wait: Wait
    /// The TLS sessions, which libcurl would otherwise keep for each request.
    private let sessions: UnsafeMutableRawPointer?
    /// Used on the thread of the loop only.
    let sockets = OpenSockets()
    /// Used on the thread of the loop only.
    var closingSockets = ClosingSockets()
    private let inbox = Locked(Inbox())
    private let jobSignal = WaitSignal()
    private var transfers: [UnsafeMutableRawPointer: any LoopTransfer] = [:]
    private var lookups = LookupLimiter()
    private var newsSinks: [ObjectIdentifier: any TransferSink] = [:]
    private var nextCheck = Moment.now
    /// The time at which this turn began: at most a turn too old, without a call of the system for each event. Used on
    /// the thread of the loop only.
    private(set) var time = Moment.now

    init(
        wait: @escaping Wait = { (multi, time, others) throws(BlobError) in
            try multi.wait(milliseconds: time, for: others)
        }
    ) throws(BlobError) {
        (self.multi, self.wait) = (try CurlMulti(), wait)
        self.sessions = blob_curl_share_sessions()
        guard startThread(named: "BlobTransfer", { self.run() }) else {
            throw BlobError(.unavailable, "There is no thread for transfers.", isTransient: true)
        }
    }

    /// Runs `job` on the thread of the transfers. Does not wait for it.
    func perform(_ job: @escaping Job) {
        let (isFirst, isParked) = self.inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isParked = false }
            return (inbox.jobs.count == 1, inbox.isParked)
        }
        if isParked { self.jobSignal.signal() } else if isFirst { self.multi.wake() }
    }

    private func run() {
        // Writing to a TLS connection that the peer has closed would raise it.
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        while true {
            do throws(BlobError) {
                try self.turn()
            } catch {
                self.fail(error)
            }
        }
    }

    /// Does all work that is possible, and waits for more.
    private func turn() throws(BlobError) {
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
        let ends = [isIdle ? nil : self.nextCheck, self.closingSockets.end].compactMap { $0?.remaining }
        let time = ends.min() ?? .seconds(60)
        // Rounded up, so that the loop does not spin in the last millisecond.
        try self.wait(self.multi, Int((time.timeInterval * 1000).rounded(.up)), self.closingSockets.waits)
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

    /// Ends all transfers after an error of libcurl itself, and waits for the next one: without transfers, an error
    /// that stays is met once by each.
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

    /// Wakes the readers of sinks that got news since the last time.
    private func flush() {
        guard !self.newsSinks.isEmpty else { return }
        let sinks = self.newsSinks.values
        self.newsSinks = [:]
        for sink in sinks { sink.flush() }
    }

    func noteNews(_ sink: any TransferSink) { self.newsSinks[ObjectIdentifier(sink)] = sink }

    /// Checks the limits of all transfers after `delay` at the latest.
    func check(within delay: Duration) {
        self.nextCheck = min(self.nextCheck, self.time + delay)
    }

    /// Calls ``LoopTransfer/connect(_:)`` when there is room for another lookup.
    func enqueue(_ transfer: any LoopTransfer) {
        self.lookups.enqueue(transfer)
        // Each check asks for the next one.
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
        if !self.lookups.holds(identity) { self.free(handle) }
    }

    private func free(_ handle: CurlHandle) {
        self.multi.remove(handle)
        handle.close()
    }
}

/// A transfer that ``TransferLoop`` runs, on whose thread all methods are called.
protocol LoopTransfer: AnyObject {
    /// Begins the request, whose turn it is; without effect when the transfer has ended.
    func connect(_ loop: TransferLoop)

    /// Takes a line of the head of the answer; returns false to end the request.
    func takeLine(_ line: UnsafeRawBufferPointer) -> Bool

    /// Takes bytes of the body of the answer; returns their number, or another one to pause or end the request.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Ends the request with libcurl's result.
    func finish(_ code: CURLcode, _ loop: TransferLoop)

    /// Ends the transfer, for an error of all transfers.
    func fail(_ error: BlobError, _ loop: TransferLoop)

    /// Ends a transfer whose time is up, or asks ``TransferLoop/check(within:)`` for the next call. Called when the
    /// transfer is new, when any transfer asked for it, and every two seconds.
    func checkLimits(_ loop: TransferLoop)
}

/// The transfers whose hosts are looked up, and those that wait until fewer are.
///
/// libcurl starts a thread for each lookup that its cache does not answer, and cannot end it: a lookup counts until it
/// is over, also when its transfer was cancelled.
struct LookupLimiter {
    /// The maximum number of lookups at a time.
    static let maximumLookupCount = 32

    private var queue = Fifo<any LoopTransfer>()

    /// The requests whose host has no address yet.
    private var lookups: [UnsafeMutableRawPointer: CurlHandle] = [:]

    var isEmpty: Bool { self.queue.isEmpty && self.lookups.isEmpty }

    /// The transfers that wait, in their order. Some may have ended.
    var waiting: [any LoopTransfer] { self.queue.all }

    /// True when a transfer can begin.
    var hasNext: Bool { !self.queue.isEmpty && self.lookups.count < Self.maximumLookupCount }

    mutating func enqueue(_ transfer: any LoopTransfer) { self.queue.append(transfer) }

    /// Takes the transfer that begins next; nil when there is none, or no room.
    mutating func next() -> (any LoopTransfer)? { self.hasNext ? self.queue.popFirst() : nil }

    /// Takes all transfers that wait.
    mutating func takeQueue() -> [any LoopTransfer] {
        defer { self.queue = Fifo() }
        return self.waiting
    }

    mutating func begin(_ identity: UnsafeMutableRawPointer, _ handle: CurlHandle) {
        self.lookups[identity] = handle
    }

    /// Returns true when a request has to stay until its lookup is over.
    func holds(_ identity: UnsafeMutableRawPointer) -> Bool { self.lookups[identity] != nil }

    /// Takes a request that has ended.
    mutating func take(_ identity: UnsafeMutableRawPointer) -> CurlHandle? {
        self.lookups.removeValue(forKey: identity)
    }

    /// Takes the requests whose lookup is over.
    mutating func takeHandlesWithAddress() -> [UnsafeMutableRawPointer: CurlHandle] {
        let found = self.lookups.filter(\.value.hasAddress)
        for identity in found.keys { self.lookups[identity] = nil }
        return found
    }

    /// Takes all requests.
    mutating func takeAll() -> [CurlHandle] {
        defer { self.lookups = [:] }
        return Array(self.lookups.values)
    }
}
