import BlobStreams
import Foundation

/// One upload under way, which receives the events of the session and resumes the caller.
final class Upload: Sendable {
    typealias Outcome = (Data, HTTPURLResponse)

    private struct State {
        var continuation: CheckedContinuation<Outcome, any Error>?
        var task: URLSessionTask?
        var data = Data()
        var registration: BlobRegistration?
        var timer: DispatchWorkItem?
        var restart: (@Sendable () -> Void)?
    }

    let body: BlobUploadBody
    private let responseLimit: Int
    private let state = Locked(State())

    init(_ body: BlobUploadBody, responseLimit: Int) {
        self.body = body
        self.responseLimit = responseLimit
    }

    /// Begins the upload. Call it first, and only once.
    func begin(_ continuation: CheckedContinuation<Outcome, any Error>, deadline: ContinuousClock.Instant?) {
        self.state.withLock { $0.continuation = continuation }
        let registration = self.body.onCancel { [weak self] in
            self?.finish(.failure(BlobError(.cancelled, "The upload was cancelled.", operation: "write")))
        }
        let timer = deadline.map { deadline in
            let timer = DispatchWorkItem { [weak self] in
                self?.finish(.failure(BlobError(.timedOut, "The deadline of the upload passed.", operation: "write")))
            }
            let interval = max(.zero, deadline - .now).timeInterval
            DispatchQueue.global().asyncAfter(deadline: .now() + interval, execute: timer)
            return timer
        }
        let isOver = self.state.withLock { state in
            if state.continuation != nil { (state.registration, state.timer) = (registration, timer) }
            return state.continuation == nil
        }
        if isOver { timer?.cancel() }
    }

    /// Resumes the task, unless the upload is already over.
    func start(_ task: URLSessionTask) {
        let isOver = self.state.withLock { state in
            state.task = task
            return state.continuation == nil
        }
        if isOver { Self.cancel(task) } else { task.resume() }
    }

    /// - Parameter restart: Starts another task, for a body that was sent as data and must be sent again.
    func setRestart(_ restart: @escaping @Sendable () -> Void) {
        self.state.withLock { state in
            if state.continuation != nil { state.restart = restart }
        }
    }

    // MARK: Events of the session

    /// Called when the body is needed again; returns true when another task sends it, and this one is over.
    func restarts() -> Bool {
        let (task, restart) = self.state.withLock { state in
            defer { state.restart = nil }
            return (state.restart == nil ? nil : state.task, state.restart)
        }
        guard let restart else { return false }
        if let task { Self.cancel(task) }
        BlockingPool.reads.run(restart)
        return true
    }

    /// Called when a response begins; an earlier one was a challenge, whose body is discarded.
    func receiveResponse() { self.state.withLock { $0.data = Data() } }

    func receive(_ data: Data) {
        let fits = self.state.withLock { state in
            guard state.data.count + data.count <= self.responseLimit else { return false }
            state.data.append(data)
            return true
        }
        guard !fits else { return }
        self.finish(
            .failure(
                BlobError(
                    .limitExceeded, "The response is longer than the limit of \(self.responseLimit) bytes.",
                    operation: "write")))
    }

    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        let data = self.state.withLock { state in
            state.task = nil  // There is nothing left to cancel.
            return state.data
        }
        self.finish(
            Result { () throws(BlobError) -> Outcome in (data, try self.body.confirm(response, error: error)) })
    }

    /// Resumes the caller, only the first time; after a failure, cancels what is still under way.
    func finish(_ result: Result<Outcome, BlobError>) {
        let state = self.state.withLock { state in
            defer { state = State() }
            return state
        }
        guard let continuation = state.continuation else { return }
        state.registration?.cancel()
        state.timer?.cancel()
        if case .failure = result {
            self.body.cancel()
            if let task = state.task { Self.cancel(task) }
        }
        continuation.resume(with: result.mapError { $0 })
    }

    /// Cancels a task on another thread: `cancel` waits for reads of the session, which may be on this one.
    private static func cancel(_ task: URLSessionTask) { BlockingPool.openings.run { task.cancel() } }
}
