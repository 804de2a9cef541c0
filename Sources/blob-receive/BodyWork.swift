import BlobCore
import BlobReceiving
import NIOCore

/// The work on the disk for the body of one request, in order, off the event loop.
final class BodyWork: @unchecked Sendable {  // Safe: `receiver` belongs to the jobs, which run one after another.
    typealias Outcome<Value> = @Sendable (Result<Value, BlobError>) -> Void

    /// The number of pieces that may wait for the disk before reading from the connection pauses. Each is at most one
    /// read.
    private static let maximumWaitingCount = 4

    private struct State {
        var waitingCount = 0
        var onRoom: (@Sendable () -> Void)?
    }

    private let queue = SerialQueue()
    private let state = Locked(State())
    private var receiver: (any BodyReceiver)?

    // MARK: Called on the event loop

    /// Creates the receiver: `then` receives its interim answer.
    func begin(
        _ make: @escaping @Sendable () throws(BlobError) -> any BodyReceiver, then: @escaping Outcome<RequestAnswer?>
    ) {
        self.queue.run {
            do throws(BlobError) {
                let receiver = try make()
                self.receiver = receiver
                then(.success(receiver.interimAnswer))
            } catch {
                then(.failure(error))
            }
        }
    }

    /// Hashes and stores a piece; `fail` is called at the first error.
    func take(_ bytes: ByteBuffer, fail: @escaping @Sendable (BlobError) -> Void) {
        self.state.withLock { $0.waitingCount += 1 }
        self.queue.run {
            do throws(BlobError) {
                try self.receive(bytes)
            } catch {
                self.drop()
                fail(error)
            }
            self.endPiece()
        }
    }

    /// Returns true when there is room for more pieces; otherwise `onRoom` is called once when there is.
    func hasRoom(_ onRoom: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            guard state.waitingCount >= Self.maximumWaitingCount else { return true }
            state.onRoom = onRoom
            return false
        }
    }

    /// True while pieces wait for the disk.
    var hasPendingPieces: Bool { self.state.withLock { $0.waitingCount > 0 } }

    /// Ends a complete body: `then` receives the answer, with all parts stored and named. Not called after an error.
    func finish(then: @escaping Outcome<RequestAnswer>) {
        self.queue.run {
            guard let receiver = self.receiver else { return }
            do throws(BlobError) {
                then(.success(try receiver.answer()))
            } catch {
                self.drop()
                then(.failure(error))
            }
        }
    }

    /// Discards a body that will not be completed, and its files.
    func abandon() { self.queue.run { self.drop() } }

    // MARK: Called by the jobs

    private func receive(_ bytes: ByteBuffer) throws(BlobError) {
        guard let receiver = self.receiver else { return }
        do {
            try bytes.withUnsafeReadableBytes { try receiver.take($0) }
        } catch {
            throw BlobError(wrapping: error)
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

    /// Runs `job` after all jobs that were added before.
    func run(_ job: @escaping Job) {
        let mustStart = self.state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { BlockingPool.brief.run { self.turn() } }
    }

    /// Runs the current jobs, then yields to other work of the pool.
    private func turn() {
        let jobs = self.state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job() }
        let hasMoreJobs = self.state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning
        }
        if hasMoreJobs { BlockingPool.brief.run { self.turn() } }
    }
}
