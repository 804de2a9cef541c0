import BlobCore
import BlobPlatform

extension Kit {
    /// The time within which a cancelled call must return: the second of C12, with a margin for loaded machines.
    private static let limit = Duration.milliseconds(1500)
    private static let attemptCount = 3

    /// C3: after a throw, every later read throws the same error.
    func checkStickyErrors() throws {
        for stepCount in [0, 1, 2, 5, 20] {
            let context = BlobContext()
            let pass = try self.open(capacity: 16, context: context, waiting: BlobContext())
            for _ in 0..<stepCount { _ = try pass.step() }
            context.cancellation.cancel()
            guard let first = self.readError(pass) else { continue }
            for _ in 0..<3 {
                let next = self.readError(pass, attempts: 1)
                guard next?.code != first.code else { continue }
                let seen = next.map { "'\($0)'" } ?? "no error"
                self.findings.add(3, "After the error '\(first)' a read gave \(seen).")
            }
        }
    }

    /// Returns the first error within `attempts` reads; nil if there is none.
    private func readError(_ pass: Pass, attempts: Int = 64) -> BlobError? {
        for _ in 0..<attempts {
            do {
                if try pass.step() == .end { return nil }
            } catch {
                return BlobError(wrapping: error)
            }
        }
        return nil
    }

    /// C12: a call that blocks returns within a second of a cancellation, and throws `cancelled`.
    func checkCancellation() {
        self.expectPrompt(12, .cancelled, "whose context was cancelled before") {
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
        self.expectPrompt(13, .timedOut, "whose deadline came") {
            (BlobContext(deadline: .now + .milliseconds(200)), {})
        }
    }

    /// Reads to the end on another thread; `interrupt` must stop the reading if it takes long.
    ///
    /// - Parameter makeTerms: Returns the context of a reading, and the function that interrupts it.
    private func expectPrompt(
        _ contract: Int, _ code: BlobError.Code, _ what: String,
        _ makeTerms: () -> (context: BlobContext, interrupt: () -> Void)
    ) {
        // On a busy machine a thread may wait that long for a core: only a reader that is late every time is at fault.
        for _ in 0..<Self.attemptCount {
            let (context, interrupt) = makeTerms()
            guard let failure = self.endOfReading(context, interrupt) else { continue }
            if case .failure(let error) = failure, error.code != code {
                self.findings.add(contract, "A reader \(what) throws: \(error)")
            }
            return
        }
        self.findings.add(contract, "A call of a reader \(what) does not return.")
    }

    /// Returns the result of a reading that is interrupted if it takes long; nil if it does not end.
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
            // A reader that still reads is slow, or ignores the interruption: no single call may take this long.
            if !isDone.wait(for: Self.limit) {
                isGivenUp.withLock { $0 = true }
                guard isDone.wait(for: Self.limit) else { return nil }
            }
        }
        return failure.withLock { $0 }.map { .failure($0) } ?? .success(())
    }

    /// C14: closing twice has no effect, and reading after it throws `closed`.
    func checkClosing() throws {
        let unread = try self.open()
        unread.reader.close()
        let pass = try self.open()
        _ = try pass.step()
        pass.reader.close()
        for closed in [unread, pass] {
            closed.reader.close()
            do {
                let result = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) {
                    try closed.read(into: $0).0
                }
                self.findings.add(14, "A read after close says '\(result)', and throws no error.")
            } catch {
                let code = BlobError(wrapping: error).code
                if code != .closed { self.findings.add(14, "A read after close throws \(code).") }
            }
        }
    }

    /// C14: a closed and released reader leaves no memory and no descriptor behind.
    func checkRelease() throws {
        weak var released: (any BlobPluginReader)?
        do {
            let pass = try self.open()
            _ = try pass.step()
            released = pass.reader
            pass.reader.close()
        }
        // A timer or an observer that another thread calls just now may hold the reader for a moment.
        let end = ContinuousClock.now + Self.limit
        while released != nil, ContinuousClock.now < end { _ = WaitSignal().wait(for: .milliseconds(1)) }
        if released != nil { self.findings.add(14, "A closed reader stays in memory.") }
        // Other threads open and close descriptors too: only a leak adds this many every time.
        let readerCount = 32
        for _ in 0..<4 {
            let before = Self.openDescriptorCount
            for _ in 0..<readerCount {
                let pass = try self.open(capacity: 64)
                _ = try pass.step()
            }
            // A connection that a reader gave up is closed by the thread that has it.
            let end = ContinuousClock.now + Self.limit
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

    /// C15: through the guard, every error has its operation, byte offset, layers and locator.
    func checkErrorContext() throws {
        let source = try self.makeSource()
        let reader = try self.makeSource().open()
        reader.close()
        let errors: [(String, () throws -> Void)] = [
            ("opening past the end", { _ = try Data(readingFrom: source.open(at: self.expected.byteCount + 1)) }),
            ("a read after close", { _ = try Data(readingFrom: reader) }),
        ]
        for (act, provoke) in errors {
            do {
                try provoke()
                self.findings.add(15, "There is no error for \(act).")
            } catch let error as BlobError {
                if error.operation == nil || error.byteOffset == nil || error.layers.isEmpty {
                    self.findings.add(15, "The error for \(act) lacks its context: \(error)")
                }
                if source.locator != nil, error.locator == nil {
                    self.findings.add(15, "The error for \(act) lacks the locator: \(error)")
                }
            }
        }
    }
}

extension Data {
    /// Reads once.
    fileprivate init(readingFrom reader: BlobReader) throws {
        self = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
            Data(buffer.prefix(try reader.readWaiting(into: buffer)))
        }
    }
}
