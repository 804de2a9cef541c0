import BlobCore
import BlobPlatform
import BlobTestSupport
import CThreadLimit
import Foundation
import Testing

@Suite struct ThreadLimitTests {
    /// The number of threads of a process is checked at its end.
    @Test(.enabled(if: isLinux)) func aProcessThatLeavesMoreThreadsThanItMayFails() async throws {
        let result = try await #require(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            thread_limit_set(20)
            for _ in 0..<40 { Thread.detachNewThread { Latch().wait() } }
        }
        #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains(" threads are left"))
        await #expect(processExitsWith: .success) {
            thread_limit_set(60)
            for _ in 0..<4 { Thread.detachNewThread { Latch().wait() } }
        }
    }

    @Test func aServerEndsItsConnectionsWhenItIsReleased() throws {
        let ended = Recorder<Int>()
        var server: LoopbackServer? = try LoopbackServer()
        let port = try #require(server?.port)
        server?.start { descriptor in
            var byte: UInt8 = 0
            ended.append(recv(descriptor, &byte, 1, 0))
        }
        let client = try TestSocket(port: port)
        #expect(!client.hasNews(within: 0))
        while server?.connectionCount == 0 { sched_yield() }
        server = nil
        #expect(ended.waitForValues(count: 1) == [0])
        #expect(client.receiveAll() == .end([]))
        #expect(throws: BlobError.self) { try TestSocket(port: port) }
    }

    @Test(arguments: [O_RDONLY, O_WRONLY]) func aFolderEndsTheOpeningsOfItsFIFOs(flags: CInt) throws {
        let (threads, openings) = (Recorder<ThreadIdentifier>(), Recorder<Bool>())
        var folder: TemporaryFolder? = try TemporaryFolder()
        let path = try #require(try folder?.makeFIFO("fifo"))
        Thread.detachNewThread {
            threads.append(.current)
            let descriptor = open(path, flags | O_CLOEXEC)
            openings.append(descriptor >= 0)
            if descriptor >= 0 { close(descriptor) }
        }
        let thread = threads.waitForValues(count: 1)[0]
        while !thread.isWaiting { sched_yield() }
        folder = nil
        #expect(openings.waitForValues(count: 1) == [true])
    }
}
