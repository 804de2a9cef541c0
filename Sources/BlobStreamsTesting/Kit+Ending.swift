import BlobCore
import BlobPlatform

extension Kit {
    /// The time within which a cancelled call must return: the one second of C12, with a margin for loaded machines.
    private static let promptnessLimit = Duration.milliseconds(1500)

    /// C12: a call that blocks returns within a second of a cancellation, and throws `cancelled`.
    func checkCancellation() {
        self.expectPrompt(12, .cancelled, "whose context was already cancelled") {
            let context = BlobContext()
            context.cancellation.cancel()
            return (context, {})
        }
        self.expectPrompt(12, .cancelled, "that was cancelled") {
            let context = BlobContext()
            return (context, { context.cancellation.cancel() })
        }
    }

    /// C13: a call that blocks returns at the deadline, and throws `timedOut`.
    func checkDeadline() {
        self.expectPrompt(13, .timedOut, "whose deadline has passed") { (BlobContext(deadline: .now), {}) }
        self.expectPrompt(13, .timedOut, "whose deadline passed during a read") {
            (BlobContext(deadline: .now + .milliseconds(200)), {})
        }
    }

    /// Adds a violation of a contract unless reading to the end, on another thread, ends in time with an error of this
    /// code.
    ///
    /// - Parameter makeTerms: A closure that returns the context of the reads, and the function that interrupts them.
    private func expectPrompt(
        _ contract: Int, _ code: BlobError.Code, _ what: String,
        _ makeTerms: () -> (context: BlobContext, interrupt: () -> Void)
    ) {
        let fault = Self.everyTime {
            let (context, interrupt) = makeTerms()
            guard let end = self.endOfReading(context, interrupt) else {
                return "A call to a reader \(what) does not return."
            }
            if case .failure(let error) = end {
                self.findings.expect(code, of: error, contract, "A reader \(what) throws")
            }
            return nil
        }
        if let fault { self.findings.add(contract, fault) }
    }

    /// Returns the result of reading to the end, with an interruption if it takes long; nil if reading does not end.
    private func endOfReading(_ context: BlobContext, _ interrupt: () -> Void) -> Result<Void, BlobError>? {
        let isDone = WaitSignal()
        let failure = Locked<BlobError?>(nil)
        let isGivenUp = Locked(false)
        inNewThread {
            do {
                let pass = try self.open(capacity: 1 << 20, context: context)
                while case .bytes = try pass.step(), !isGivenUp.withLock({ $0 }) {}
            } catch {
                failure.withLock { $0 = BlobError(wrapping: error) }
            }
            isDone.signal()
        }
        if !isDone.wait(for: .milliseconds(300)) {
            interrupt()
            // A reader that is still reading is slow, or ignores the interruption: no single call may take this long.
            if !isDone.wait(for: Self.promptnessLimit) {
                isGivenUp.withLock { $0 = true }
                guard isDone.wait(for: Self.promptnessLimit) else { return nil }
            }
        }
        return failure.withLock { $0 }.map { .failure($0) } ?? .success(())
    }

    /// C14: a closed and released reader leaks neither memory nor descriptors.
    func checkRelease() throws {
        weak var released: AnyObject?
        do {
            let pass = try self.open()
            _ = try pass.step()
            released = pass.reader.stream
            pass.reader.close()
        }
        // A timer or an observer that another thread is just calling may retain it for a moment.
        let end = ContinuousClock.now + Self.promptnessLimit
        while released != nil, ContinuousClock.now < end { _ = WaitSignal().wait(for: .milliseconds(1)) }
        if released != nil { self.findings.add(14, "The stream of a closed reader stays in memory.") }
        // Other threads open and close descriptors too: only a leak adds this many every time.
        let readerCount = 32
        for _ in 0..<4 {
            let before = Self.openDescriptorCount
            for _ in 0..<readerCount {
                let pass = try self.open(capacity: 64)
                _ = try pass.step()
            }
            // A connection that a reader gave up is closed by the thread that owns it.
            let end = ContinuousClock.now + Self.promptnessLimit
            repeat {
                if Self.openDescriptorCount < before + readerCount { return }
                _ = WaitSignal().wait(for: .milliseconds(1))
            } while ContinuousClock.now < end
        }
        self.findings.add(14, "Closed readers leave descriptors open.")
    }

    private static var openDescriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count) ?? 0
    }
}
