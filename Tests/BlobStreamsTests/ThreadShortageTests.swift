#if os(Linux)
    import BlobStreams
    import BlobTestSupport
    import Foundation
    import Testing

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
    }
#endif
