import BlobPlatform

/// A pipeline that performs jobs on several threads, and returns their products in the order of the jobs.
///
/// The thread that takes the products performs jobs too, so that the pipeline is not slower than one thread if no
/// processor is free for another thread. Has one owner. At most `window` jobs have begun without their products having
/// been taken.
package final class OrderedPipeline<Job: Sendable, Product: Sendable>: Sendable {
    private enum Slot {
        case waiting(Job)
        case running
        case done(Result<Product, any Error>)
    }

    private struct State {
        /// The jobs from `firstNumber` on; the first is the next to be taken.
        var slots: [Slot] = []
        var firstNumber = 0
        var workerCount = 0
        var isClosed = false
        /// The error after which no more jobs are created.
        var failure: (any Error)?

        var isFirstDone: Bool {
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

        /// Stores the product of a job; returns true if it is the next to be taken.
        mutating func end(_ number: Int, _ result: Result<Product, any Error>) -> Bool {
            guard !self.isClosed, self.slots.indices.contains(number - self.firstNumber) else { return false }
            self.slots[number - self.firstNumber] = .done(result)
            return number == self.firstNumber
        }
    }

    /// The number of active processors, at most eight: one reader cannot feed more threads.
    package static var usualThreadCount: Int { min(ProcessInfo.processInfo.activeProcessorCount, 8) }

    private let threadCount: Int
    private let window: Int
    private let pool: BlockingPool
    private let context: BlobContext
    private let perform: @Sendable (Job) throws -> Product
    private let state = Locked(State())
    private let firstProductSignal = WaitSignal()

    /// Creates a pipeline without jobs.
    ///
    /// - Parameters:
    ///   - threadCount: The number of threads, including the thread that takes the products.
    ///   - window: The maximum number of jobs that have begun and whose products have not been taken, at least 1.
    ///   - pool: The pool of the other threads.
    ///   - context: The context whose cancellation and deadline end a wait.
    ///   - perform: A closure that performs a job; called on any thread, and concurrently.
    package init(
        threadCount: Int, window: Int, on pool: BlockingPool, context: BlobContext,
        _ perform: @escaping @Sendable (Job) throws -> Product
    ) {
        self.threadCount = threadCount
        self.window = window
        self.pool = pool
        self.context = context
        self.perform = perform
    }

    /// Returns the product of the next job; nil if no job is left.
    ///
    /// - Parameter makeJob: A closure that returns the next job to begin; nil if no job is available for now.
    /// - Throws: The errors of `makeJob`, of the next job and of waiting.
    package func next(_ makeJob: () throws -> Job?) throws -> Product? {
        self.begin(makeJob)
        self.startWorkers(leaving: 1)
        while true {
            if let result = self.state.withLock({ $0.takeFirst() }) { return try result.get() }
            if self.state.withLock({ $0.slots.isEmpty }) {
                if let failure = self.state.withLock({ $0.failure }) { throw failure }
                return nil
            }
            if self.runOne() { continue }
            try self.context.wait(on: self.firstProductSignal) { self.state.withLock { $0.isFirstDone } ? () : nil }
        }
    }

    /// Lets the other threads begin jobs while the calling thread does other work before it takes the next product.
    ///
    /// - Parameter makeJob: A closure that returns the next job to begin, as in ``next(_:)``. A later call of
    ///   ``next(_:)`` throws its errors.
    package func prepare(_ makeJob: () throws -> Job?) {
        self.begin(makeJob)
        self.startWorkers(leaving: 0)
    }

    /// Discards the waiting jobs, and the products of the running ones.
    package func close() {
        self.state.withLock { state in
            state.isClosed = true
            state.slots = []
        }
    }

    private func begin(_ makeJob: () throws -> Job?) {
        do {
            while self.state.withLock({ $0.failure == nil && $0.slots.count < self.window }), let job = try makeJob() {
                self.state.withLock { $0.slots.append(.waiting(job)) }
            }
        } catch {
            // Jobs that were begun earlier come first.
            self.state.withLock { $0.failure = error }
        }
    }

    /// Starts as many workers as there are waiting jobs, except for the jobs that are left to the calling thread.
    private func startWorkers(leaving leftCount: Int) {
        let newWorkerCount = self.state.withLock { state in
            let waiting = state.slots.count { if case .waiting = $0 { true } else { false } } - leftCount
            let count = max(0, min(waiting, self.threadCount - 1 - state.workerCount))
            state.workerCount += count
            return count
        }
        for _ in 0..<newWorkerCount { self.pool.run { self.work() } }
    }

    private func work() {
        while self.runOne() {}
        self.state.withLock { $0.workerCount -= 1 }
    }

    /// Performs the first waiting job; returns false if no job is waiting.
    private func runOne() -> Bool {
        guard let (number, job) = self.state.withLock({ $0.begin() }) else { return false }
        let result = Result { try self.perform(job) }
        if self.state.withLock({ $0.end(number, result) }) { self.firstProductSignal.signal() }
        return true
    }
}
