import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Uses of the loop that need a process of their own.
@Suite(.timeLimit(.minutes(5))) struct EventLoopProcessTests {
    @Test func twoThousandPipesTakeOneThread() async {
        await #expect(processExitsWith: .success) {
            _ = setDescriptorLimit(5000)
            let context = BlobContext()
            let wakes = Recorder<Int>()
            let pipes = try (0..<2000).map { _ in try SystemPipe() }
            let before = threadCount()
            let registrations = try pipes.enumerated().map { number, pipe in
                try context.park(pipe.readEnd, BlobWaker { wakes.append(number) })
            }
            #expect(threadCount() <= before + 1)
            for pipe in pipes { pipe.write() }
            #expect(Set(wakes.waitForValues(count: pipes.count)) == Set(pipes.indices))
            withExtendedLifetime(registrations) {}
        }
    }

    @Test func aParkingTakesSome300Bytes() async {
        await #expect(processExitsWith: .success) {
            _ = setDescriptorLimit(20_000)
            let context = BlobContext()
            let pipe = try SystemPipe()
            let waker = BlobWaker {}
            // What the loop and the process take once is taken before.
            var registrations = try (0..<100).map { _ in try context.park(dup(pipe.readEnd), waker) }
            registrations.reserveCapacity(15_100)
            var numbers: [CInt] = []
            while case let number = dup(pipe.readEnd), number >= 0, numbers.count < 15_000 { numbers.append(number) }
            let before = heapByteCount()
            for number in numbers { registrations.append(try context.park(number, waker)) }
            try #require(numbers.count > 1000)
            let byteCount = (heapByteCount() - before) / numbers.count
            // Sanitizers surround what is on the heap.
            let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in
                dlsym(dlopen(nil, RTLD_NOW), name) != nil
            }
            #expect(isSanitized || byteCount < 350)
        }
    }

    /// Nothing else wakes the loop here.
    @Test func aTimerSoonerThanAllWakesTheSleepingLoop() async {
        await #expect(processExitsWith: .success) {
            let context = BlobContext()
            for delay in [nil, Duration.seconds(Int64.max), .seconds(3600)] {
                let late = delay.map { context.wake(after: $0, BlobWaker { Issue.record("Far too early.") }) }
                // It may be awake still, once or twice.
                for _ in 0..<100 {
                    let isDone = DispatchSemaphore(value: 0)
                    let soon = context.wake(after: .zero, BlobWaker { isDone.signal() })
                    try #require(isDone.wait(timeout: .now() + 20) == .success)
                    soon.cancel()
                }
                late?.cancel()
            }
        }
    }

    @Test func aSignalDoesNotStopTheLoop() async {
        await #expect(processExitsWith: .success) {
            signal(SIGUSR1) { _ in }
            let context = BlobContext()
            let loopThread = Recorder<UnsafeTransfer<pthread_t>>()
            let threads = context.wake(after: .zero, BlobWaker { loopThread.append(UnsafeTransfer(pthread_self())) })
            let thread = loopThread.waitForValues(count: 1)[0].value
            let pipe = try SystemPipe()
            let wakes = Recorder<String>()
            let parking = try context.park(pipe.readEnd, BlobWaker { wakes.append("bytes") })
            for _ in 0..<1000 {
                pthread_kill(thread, SIGUSR1)
                sched_yield()
            }
            #expect(wakes.values.isEmpty)
            pipe.write()
            wakes.waitForValues(count: 1)
            withExtendedLifetime((threads, parking)) {}
        }
    }

    @Test func withoutAFreeDescriptorTimersComeAndParkingIsATransientError() async {
        await #expect(processExitsWith: .success) {
            let context = BlobContext()
            let pipe = try SystemPipe()
            let free = dup(pipe.readEnd)
            _ = close(free)
            // One is not enough: the loop takes two.
            let limit = setDescriptorLimit(UInt(free) + 1)
            let wakes = Recorder<String>()
            let error = #expect(throws: BlobError.self) {
                try context.park(pipe.readEnd, BlobWaker { wakes.append("bytes") })
            }
            let timers = [20, 1].map { delay in
                context.wake(after: .milliseconds(delay), BlobWaker { wakes.append("\(delay)") })
            }
            let wakesWithout = wakes.waitForValues(count: 2)
            _ = setDescriptorLimit(limit)
            #expect(error?.systemErrorNumber == EMFILE)
            #expect(error?.isTransient == true)
            #expect(Set(wakesWithout) == ["1", "20"])
            let parking = try context.park(pipe.readEnd, BlobWaker { wakes.append("bytes") })
            pipe.write()
            #expect(wakes.waitForValues(count: 3).last == "bytes")
            withExtendedLifetime((timers, parking)) {}
        }
    }
}
