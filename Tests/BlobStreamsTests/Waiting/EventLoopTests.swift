import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct EventLoopTests {
    private let context = BlobContext()
    private let wakes = Recorder<String>()

    private func waker(_ name: String) -> BlobWaker { BlobWaker { [wakes] in wakes.append(name) } }

    /// Returns once the loop was through with what had happened before.
    private func turn() async throws {
        let (pipe, latch) = (try SystemPipe(), Latch())
        pipe.write()
        let registration = try self.context.park(pipe.readEnd, BlobWaker { latch.open() })
        await latch.opened()
        registration.cancel()
    }

    // MARK: Descriptors

    @Test func bytesInAPipeWakeOnce() async throws {
        let pipe = try SystemPipe()
        let registration = try self.context.park(pipe.readEnd, self.waker("bytes"))
        try await self.turn()
        #expect(self.wakes.values.isEmpty)
        pipe.write()
        await self.wakes.values(count: 1)
        pipe.write()
        try await self.turn()
        #expect(self.wakes.values == ["bytes"])
        registration.cancel()
    }

    @Test func bytesThatAreThereAlreadyWake() async throws {
        let pipe = try SystemPipe()
        pipe.write()
        let registration = try self.context.park(pipe.readEnd, self.waker("bytes"))
        await self.wakes.values(count: 1)
        registration.cancel()
    }

    @Test func aHangUpWakes() async throws {
        let pipe = try SystemPipe()
        let registration = try self.context.park(pipe.readEnd, self.waker("end"))
        pipe.hangUp()
        await self.wakes.values(count: 1)
        registration.cancel()
    }

    @Test func anErrorWakes() async throws {
        // The write end of a pipe that nobody reads is in error, and never readable.
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { _ = close(ends[1]) }
        let registration = try self.context.park(ends[1], self.waker("error"))
        _ = close(ends[0])
        await self.wakes.values(count: 1)
        registration.cancel()
    }

    @Test(arguments: [#filePath, "/dev/null"]) func whatIsAlwaysReadyWakesAtOnce(path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { _ = close(descriptor) }
        for count in 1...2 {
            _ = try self.context.park(descriptor, self.waker("file"))
            #expect(self.wakes.values.count == count)
        }
    }

    @Test(arguments: [-1, CInt.max]) func whatIsNotOpenIsAnError(descriptor: CInt) throws {
        let error = try #require(throws: BlobError.self) {
            try self.context.park(descriptor, self.waker("never"))
        }
        #expect(error.code == .io)
        #expect(error.systemErrorNumber == EBADF)
        #expect(error.message.contains("\(descriptor)"))
        #expect(self.wakes.values.isEmpty)
    }

    @Test func aDescriptorIsParkedAsOftenAsOneLikes() async throws {
        let pipe = try SystemPipe()
        let registrations = try (0..<5).map { try self.context.park(pipe.readEnd, self.waker("\($0)")) }
        registrations[1].cancel()
        registrations[3].cancel()
        pipe.write()
        await self.wakes.values(count: 3)
        try await self.turn()
        #expect(self.wakes.values == ["0", "2", "4"])
        // It can be parked again, and the bytes are still there.
        let again = try self.context.park(pipe.readEnd, self.waker("again"))
        await self.wakes.values(count: 4)
        again.cancel()
        withExtendedLifetime(registrations) {}
    }

    @Test(arguments: [true, false]) func aRemovedParkingDoesNotWake(isReleased: Bool) async throws {
        let pipe = try SystemPipe()
        var registration: BlobRegistration? = try self.context.park(pipe.readEnd, self.waker("removed"))
        if isReleased { registration = nil } else { registration?.cancel() }
        pipe.write()
        try await self.turn()
        #expect(self.wakes.values.isEmpty)
        registration?.cancel()
    }

    @Test func aWakerRemovesItsOwnAndOtherParkings() async throws {
        let pipe = try SystemPipe()
        let registrations = Locked<[BlobRegistration]>([])
        let removing = BlobWaker { [wakes] in
            for registration in registrations.withLock({ $0 }) { registration.cancel() }
            wakes.append("removing")
        }
        try registrations.withLock { registrations throws in
            registrations.append(try self.context.park(pipe.readEnd, removing))
            // They come after it, and do not get their turn.
            for _ in 0..<3 { registrations.append(try self.context.park(pipe.readEnd, self.waker("removed"))) }
        }
        pipe.write()
        await self.wakes.values(count: 1)
        try await self.turn()
        #expect(self.wakes.values == ["removing"])
        registrations.withLock { $0 = [] }
    }

    @Test func aWakerParksAgain() async throws {
        let pipe = try SystemPipe()
        let (context, wakes) = (self.context, self.wakes)
        let registration = Locked<BlobRegistration?>(nil)
        @Sendable func park() throws {
            let next = try context.park(
                pipe.readEnd,
                BlobWaker {
                    wakes.append("again")
                    if wakes.values.count < 100 { try? park() }
                })
            registration.withLock { $0 = next }
        }
        try park()
        pipe.write()
        await wakes.values(count: 100)
        registration.withLock { $0 }?.cancel()
    }

    @Test func aNumberThatIsClosedAndUsedAgainWakesNobodyWrongly() async throws {
        let (old, new) = (try SystemPipe(), try SystemPipe())
        let number = dup(old.readEnd)
        let first = try self.context.park(number, self.waker("old"))
        // Closed without the removal. The system still reports the old pipe, which is open by another number.
        try #require(dup2(new.readEnd, number) == number)
        defer { _ = close(number) }
        let second = try self.context.park(number, self.waker("new"))
        old.write()
        try await self.turn()
        #expect(self.wakes.values.isEmpty)
        new.write()
        await self.wakes.values(count: 2)
        #expect(self.wakes.values == ["old", "new"])
        first.cancel()
        second.cancel()
    }

    @Test func removalAfterTheDescriptorWasClosedDoesNoHarm() async throws {
        let pipe = try SystemPipe()
        let number = dup(pipe.readEnd)
        let registration = try self.context.park(number, self.waker("closed"))
        _ = close(number)
        registration.cancel()
        registration.cancel()
        try await self.turn()
    }

    @Test func aFIFOIsNotReadableBeforeAWriterWasSeen() async throws {
        let path = "\(NSTemporaryDirectory())/BlobStreams-\(UUID()).fifo"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { _ = close(descriptor) }
        let registration = try self.context.park(descriptor, self.waker("end"))
        try await self.turn()
        #expect(self.wakes.values.isEmpty)
        let writer = open(path, O_WRONLY | O_CLOEXEC)
        try #require(writer >= 0)
        try await self.turn()
        #expect(self.wakes.values.isEmpty)
        _ = close(writer)
        await self.wakes.values(count: 1)
        registration.cancel()
    }

    @Test func theFlagsOfADescriptorStayAsTheyAre() async throws {
        let pipe = try SystemPipe()
        let flags = fcntl(pipe.readEnd, F_GETFL)
        let registration = try self.context.park(pipe.readEnd, self.waker("bytes"))
        #expect(fcntl(pipe.readEnd, F_GETFL) == flags)
        pipe.write()
        await self.wakes.values(count: 1)
        #expect(fcntl(pipe.readEnd, F_GETFL) == flags)
        var byte: UInt8 = 0
        #expect(read(pipe.readEnd, &byte, 1) == 1)
        registration.cancel()
    }

    @Test func theLoopKnowsItsThread() async throws {
        #expect(!EventLoop.isCurrentThread)
        let answers = Recorder<Bool>()
        let pipe = try SystemPipe()
        pipe.write()
        let registrations = [
            try self.context.park(pipe.readEnd, BlobWaker { answers.append(EventLoop.isCurrentThread) }),
            self.context.wake(after: .zero, BlobWaker { answers.append(EventLoop.isCurrentThread) }),
        ]
        #expect(await answers.values(count: 2) == [true, true])
        for registration in registrations { registration.cancel() }
    }

    // MARK: Timers

    @Test func timersComeInTheirOrder() async throws {
        let context = self.context
        let order = Recorder<Int>()
        // All are made while the loop cannot turn, however long that takes.
        let isHeld = try HeldLoop()
        let deadlines = [30, 10, 20, -5].enumerated().map { number, milliseconds in
            let earliest = ContinuousClock.now.advanced(by: .milliseconds(max(milliseconds, 0)))
            let timer = context.wake(after: .milliseconds(milliseconds), BlobWaker { order.append(number) })
            let latest = ContinuousClock.now.advanced(by: .milliseconds(max(milliseconds, 0)))
            return (earliest: earliest, latest: latest, timer: timer)
        }
        isHeld.release()
        let numbers = await order.values(count: 4)
        #expect(Set(numbers).count == 4)
        for (number, next) in zip(numbers, numbers.dropFirst()) {
            #expect(deadlines[number].earliest <= deadlines[next].latest)
        }
    }

    @Test func aTimerIsNeverEarly() async throws {
        for microseconds in [1, 999, 1001, 2500] {
            let (start, latch) = (ContinuousClock.now, Latch())
            let delay = Duration.microseconds(microseconds)
            let registration = self.context.wake(after: delay, BlobWaker { latch.open() })
            await latch.opened()
            #expect(ContinuousClock.now - start >= delay)
            registration.cancel()
        }
    }

    @Test func aRemovedTimerDoesNotWake() async throws {
        // None can come before it is removed.
        let isHeld = try HeldLoop()
        let removed = self.context.wake(after: .zero, self.waker("removed"))
        removed.cancel()
        _ = self.context.wake(after: .zero, self.waker("released"))
        let last = self.context.wake(after: .zero, self.waker("last"))
        isHeld.release()
        #expect(await self.wakes.values(count: 1) == ["last"])
        last.cancel()
    }

    @Test func tenThousandTimersAllCome() async throws {
        let registrations = (0..<10_000).map { number in
            self.context.wake(after: .microseconds(number * 7919 % 50_000), self.waker(""))
        }
        await self.wakes.values(count: registrations.count)
        for registration in registrations { registration.cancel() }
    }

    /// Swept: more than 64 places, and more than twice the timers there are.
    @Test func removedTimersLeaveTheHeap() async throws {
        let count = 200_000
        // Due before them, so that they are not thrown away one by one as the first.
        let first = self.context.wake(after: .seconds(1800), self.waker("first"))
        for _ in 0..<count { self.context.wake(after: .seconds(3600), self.waker("removed")).cancel() }
        // Tests beside this one have some.
        #expect(EventLoop.shared.timerHeapCount < count / 2)
        first.cancel()
        #expect(self.wakes.values.isEmpty)
    }
}

/// Keeps the loop inside of a waker, as no waker of any good does.
private struct HeldLoop {
    private let end = DispatchSemaphore(value: 0)
    private let timer: BlobRegistration

    init() throws {
        let isHeld = DispatchSemaphore(value: 0)
        self.timer = BlobContext().wake(
            after: .zero,
            BlobWaker { [end] in
                isHeld.signal()
                end.wait()
            })
        try #require(isHeld.wait(timeout: .now() + 60) == .success)
    }

    func release() { self.end.signal() }
}
