#if os(Linux)
    import BlobStreams
    import BlobTestSupport
    import Foundation
    import Testing

    @testable import BlobCore

    /// A process that can start no thread, because its address space has no room for a stack.
    @Suite(.timeLimit(.minutes(5))) struct ThreadShortageTests {
        private static func setAddressSpaceLimit(_ byteCount: rlim_t) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            limit.rlim_cur = min(byteCount, limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        }

        /// The bytes of address space that this process has, as proc(5) has it.
        private static func addressSpace() throws -> rlim_t {
            let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return rlim_t(words.first.flatMap { UInt64($0) } ?? 0) * rlim_t(sysconf(CInt(_SC_PAGESIZE)))
        }

        /// Neither the pool nor the loop has a thread: the timer of the pool must not call itself for ever.
        @Test func jobsWaitForTheNextOneWhenThereIsNoThread() async {
            await #expect(processExitsWith: .success) {
                let (pool, done) = (BlockingPool(maximumThreadCount: 4), Latch())
                let filler = [UInt8](repeating: 1, count: 1 << 20)
                Self.setAddressSpaceLimit(try Self.addressSpace())
                // As many jobs as it starts threads for at once, and more.
                for _ in 0..<4 { pool.run {} }
                let threadCount = pool.threadCount
                Self.setAddressSpaceLimit(rlim_t.max)
                try #require(threadCount == 0 && filler.count == 1 << 20)
                pool.run { done.open() }
                done.wait()
            }
        }

        /// Runs `body` while there is room for what it allocates, and for no thread.
        private static func withoutThreads(_ body: () throws -> Void) throws {
            Self.setAddressSpaceLimit(try Self.addressSpace() + 512 * 1024)
            defer { Self.setAddressSpaceLimit(rlim_t.max) }
            try #require(!EventLoop.shared.isRunning)
            try body()
        }

        /// The timer of the first read in vain calls its waker at once.
        @Test func aWaitThatIsWokenEarlyKeepsItsLimit() async {
            await #expect(processExitsWith: .success) {
                let pipe = BlobPipe()
                let reader = try pipe.source.open(context: BlobContext(idleLimit: .milliseconds(200)))
                try Self.withoutThreads { try #require(try Data(readingAtMost: 1, from: reader, waits: false).isEmpty) }
                // Ends a process that waits without a timer.
                alarm(20)
                try #require(codeThrown { try read(reader) } == .timedOut)
                pipe.finish()
            }
        }

        @Test func aWaitForATimeThatIsWokenEarlyIsRepeated() async {
            await #expect(processExitsWith: .success) {
                let reader = try ThrottledSource(MemorySource([1, 2]), bytesPerSecond: 5).open()
                try #require(try read(reader) == [1])
                try Self.withoutThreads { try #require(try Data(readingAtMost: 1, from: reader, waits: false).isEmpty) }
                alarm(20)
                try #require(try read(reader) == [2])
            }
        }
    }
#endif
