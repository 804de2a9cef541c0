import BlobStreams
import Foundation

/// Does jobs on several threads and gives their products in the order of the jobs.
///
/// The thread that takes the products works too, so that nothing is slower than on one thread when no other one gets a
/// processor. One owner; at most `window` jobs are begun and not taken.
final class OrderedPipeline<Job: Sendable, Product: Sendable>: Sendable {
    private enum Slot {
        case waiting(Job)
        case running
        case done(Result<Product, any Error>)
    }

    private struct State {
        /// By number; the first is the next to be taken.
        var slots: [Slot] = []
        var firstNumber = 0
        var workerCount = 0
        var isClosed = false
        /// Why there are no more jobs.
        var failure: (any Error)?

        var firstIsDone: Bool {
            if case .done = self.slots.first { true } else { self.slots.isEmpty }
        }

        mutating func takeFirst() -> Result<Product, any Error>? {
            guard case .done(let result) = self.slots.first else { return nil }
            self.slots.removeFirst()
            self.firstNumber += 1
            return result
        }

        mutating func begin() -> (number: Int, job: Job)? {
            for index in self.slots.indices {
                guard case .waiting(let job) = self.slots[index] else { continue }
                self.slots[index] = .running
                return (self.firstNumber + index, job)
            }
            return nil
        }

        /// True when the product is the next to be taken.
        mutating func end(_ number: Int, _ result: Result<Product, any Error>) -> Bool {
            guard !self.isClosed, self.slots.indices.contains(number - self.firstNumber) else { return false }
            self.slots[number - self.firstNumber] = .done(result)
            return number == self.firstNumber
        }
    }

    /// As many threads as there are processors, up to eight: more would not be fed by one reader.
    static var usualThreadCount: Int { min(ProcessInfo.processInfo.activeProcessorCount, 8) }

    private let threadCount: Int
    private let window: Int
    private let pool: BlockingPool
    private let context: BlobContext
    private let perform: @Sendable (Job) throws -> Product
    private let state = Locked(State())
    private let news = WaitSignal()

    /// - Parameters:
    ///   - threadCount: How many threads work, with the one that takes the products.
    ///   - window: The most jobs that are begun and not taken, at least 1.
    ///   - pool: Has the other threads.
    ///   - context: The terms of waiting.
    ///   - perform: Does a job, on any thread; several at the same time.
    init(
        threadCount: Int, window: Int, on pool: BlockingPool, context: BlobContext,
        _ perform: @escaping @Sendable (Job) throws -> Product
    ) {
        self.threadCount = threadCount
        self.window = window
        self.pool = pool
        self.context = context
        self.perform = perform
    }

    /// The product of the next job; nil when there is none.
    ///
    /// - Parameter makeJob: The next job to be begun; nil when there is none for now.
    /// - Throws: What `makeJob` and the next job throw, and what waiting brings.
    func next(_ makeJob: () throws -> Job?) throws -> Product? {
        do {
            while self.state.withLock({ $0.failure == nil && $0.slots.count < self.window }), let job = try makeJob() {
                self.state.withLock { $0.slots.append(.waiting(job)) }
            }
        } catch {
            // What was begun before comes first.
            self.state.withLock { $0.failure = error }
        }
        let newWorkerCount = self.state.withLock { state in
            // One job is for this thread.
            let waiting = state.slots.count { if case .waiting = $0 { true } else { false } } - 1
            let count = max(0, min(waiting, self.threadCount - 1 - state.workerCount))
            state.workerCount += count
            return count
        }
        for _ in 0..<newWorkerCount { self.pool.run { self.work() } }
        while true {
            if let result = self.state.withLock({ $0.takeFirst() }) { return try result.get() }
            if self.state.withLock({ $0.slots.isEmpty }) {
                if let failure = self.state.withLock({ $0.failure }) { throw failure }
                return nil
            }
            if self.runOne() { continue }
            try self.context.wait(on: self.news) { self.state.withLock { $0.firstIsDone } ? () : nil }
        }
    }

    /// Forgets what was not begun; what runs is dropped when it is done.
    func close() {
        self.state.withLock { state in
            state.isClosed = true
            state.slots = []
        }
    }

    private func work() {
        while self.runOne() {}
        self.state.withLock { $0.workerCount -= 1 }
    }

    /// Runs the first job that waits; false when none does.
    private func runOne() -> Bool {
        guard let (number, job) = self.state.withLock({ $0.begin() }) else { return false }
        let result = Result { try self.perform(job) }
        if self.state.withLock({ $0.end(number, result) }) { self.news.signal() }
        return true
    }
}
