import BlobCore
import BlobPlatform
import CCurl

/// The thread that runs all transfers of the process, on connections that they share.
///
/// Started by the first transfer; it then stays, and costs nothing without transfers.
final class TransferLoop: @unchecked Sendable {  // Safe: the inbox has a lock; all else is used by the loop's thread.
    /// The loop of the process, or the error for which there is none.
    private static let shared = Result<TransferLoop, BlobError> { () throws(BlobError) in try TransferLoop() }

    /// The longest wait while there are transfers, whose limits of time no event announces.
    private static let longestWait = Duration.milliseconds(250)

    private let multi: CurlMulti
    /// The TLS sessions, which libcurl would otherwise keep for each request.
    private let sessions: UnsafeMutableRawPointer?
    private let inbox = Locked<[@Sendable (TransferLoop) -> Void]>([])
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var newsSinks: [ObjectIdentifier: any TransferSink] = [:]
    private var nextCheck = Moment.now

    private init() throws(BlobError) {
        self.multi = try CurlMulti()
        self.sessions = blob_curl_share_sessions()
        guard startThread(named: "BlobTransfer", { self.run() }) else {
            throw BlobError(.unavailable, "There is no thread for transfers.", isTransient: true)
        }
    }

    /// Runs `job` on the thread of the transfers, and starts that thread the first time. Does not wait for the job.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` without libcurl, memory or a thread.
    static func perform(_ job: @escaping @Sendable (TransferLoop) -> Void) throws(BlobError) {
        let loop = try self.shared.get()
        let isFirst = loop.inbox.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if isFirst { loop.multi.wake() }
    }

    private func run() {
        // Writing to a TLS connection that the peer has closed would raise it.
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        while true {
            for job in self.inbox.exchange([]) { job(self) }
            do throws(BlobError) {
                try self.multi.perform()
                while let (identity, code) = self.multi.takeResult() { self.transfers[identity]?.finish(code, self) }
                self.checkLimits()
                self.flush()
                guard self.inbox.withLock({ $0.isEmpty }) else { continue }
                let wait = self.transfers.isEmpty ? Duration.seconds(60) : Self.longestWait
                try self.multi.wait(milliseconds: Int(wait.timeInterval * 1000))
            } catch {
                for transfer in self.transfers.values { transfer.end(error, self) }
            }
        }
    }

    private func checkLimits() {
        let now = Moment.now
        guard now >= self.nextCheck else { return }
        self.nextCheck = Moment(now.instant + Self.longestWait)
        for transfer in self.transfers.values { transfer.checkLimits(now, self) }
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

    func add(_ handle: CurlHandle, _ transfer: Transfer) throws(BlobError) {
        if let sessions { handle.set(CURLOPT_SHARE, sessions) }
        guard let identity = handle.identity else { return }
        try self.multi.add(handle)
        self.transfers[identity] = transfer
    }

    func remove(_ handle: CurlHandle) {
        guard let identity = handle.identity else { return }
        self.transfers[identity] = nil
        self.multi.remove(handle)
        handle.close()
    }
}
