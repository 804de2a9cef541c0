#if Receiver
import BlobCore
import BlobReceiving
import NIOCore

/// Performs the work for the body of one request, in order, off the event loop.
final class RequestWork: @unchecked Sendable {  // Safe: `receiver` belongs to the jobs, which run one after another.
    typealias Outcome<Value> = @Sendable (Result<Value, BlobError>) -> Void

    /// The number of pieces that may wait for the disk before reading from the connection pauses. Each piece contains
    /// at most the bytes of one read.
    private static let maximumWaitingCount = 4

    private struct State {
        var waitingCount = 0
        var onRoom: (@Sendable () -> Void)?
    }

    private let queue = SerialQueue()
    private let state = Locked(State())
    private var receiver: (any BodyReceiver)?

    // MARK: Called on the event loop

    /// Creates the receiver, and passes its interim response to `then`.
    func begin(_ head: RequestHead, _ service: any RequestService, then: @escaping Outcome<RequestAnswer?>) {
        self.run(then) { () throws(BlobError) in
            let receiver = try service.receiver(for: head)
            self.receiver = receiver
            return receiver.interimAnswer
        }
    }

    /// Hashes and stores a piece. Calls `fail` at the first error.
    func receive(_ bytes: ByteBuffer, fail: @escaping @Sendable (BlobError) -> Void) {
        self.state.withLock { $0.waitingCount += 1 }
        let end: Outcome<Void> = { result in
            if case .failure(let error) = result { fail(error) }
            self.endPiece()
        }
        self.run(end) { () throws(BlobError) in
            try BlobError.wrapping { try bytes.withUnsafeReadableBytes { try self.receiver?.receive($0) } }
        }
    }

    /// Returns true if more pieces are accepted; otherwise, calls `onRoom` once as soon as they are.
    func hasRoom(_ onRoom: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            guard state.waitingCount >= Self.maximumWaitingCount else { return true }
            state.onRoom = onRoom
            return false
        }
    }

    /// True while pieces wait for the disk.
    var hasPendingPieces: Bool { self.state.withLock { $0.waitingCount > 0 } }

    /// Completes the request, and passes the response to `then` once all parts are stored and named. Do not call this
    /// method after an error.
    func finish(then: @escaping Outcome<RequestAnswer>) {
        self.queue.run {
            self.receiver?.answer { result in
                if case .failure = result { self.queue.run { self.drop() } }
                then(result)
            }
        }
    }

    /// Discards an incomplete body and its files.
    func abandon() { self.queue.run { self.drop() } }

    /// Runs a job after the others, and passes its value or its error to `then`.
    private func run<Value: Sendable>(
        _ then: @escaping Outcome<Value>, _ job: @escaping @Sendable () throws(BlobError) -> Value
    ) {
        self.queue.run {
            do throws(BlobError) {
                then(.success(try job()))
            } catch {
                self.drop()
                then(.failure(error))
            }
        }
    }

    private func drop() {
        self.receiver?.abandon()
        self.receiver = nil
    }

    private func endPiece() {
        let onRoom = self.state.withLock { state -> (@Sendable () -> Void)? in
            state.waitingCount -= 1
            guard state.waitingCount < Self.maximumWaitingCount else { return nil }
            defer { state.onRoom = nil }
            return state.onRoom
        }
        onRoom?()
    }
}

/// Runs jobs one after another, on any free thread of the pool.
final class SerialQueue: Sendable {
    typealias Job = @Sendable () -> Void

    private let state = Locked((jobs: [Job](), isRunning: false))

    /// Runs `job` after all previously added jobs.
    func run(_ job: @escaping Job) {
        let mustStart = self.state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { BlockingPool.briefJobs.run { self.runJobs() } }
    }

    /// Runs the current jobs, then yields to other work in the pool.
    private func runJobs() {
        let jobs = self.state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
        let hasMoreJobs = self.state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning
        }
        if hasMoreJobs { BlockingPool.briefJobs.run { self.runJobs() } }
    }
}
#endif
