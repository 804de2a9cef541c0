import BlobCore
import BlobPlatform
import BlobTestSupport
import CThreadLimit
import Foundation
import Testing

@Suite struct ThreadLimitTests {
    @Test(.enabled(if: isLinux), arguments: [20, 60]) func aProcessThatLeavesTooManyThreadsFails(limit: CInt) async {
        await #expect(processExitsWith: limit == 20 ? .exitCode(1) : .success) { [limit] in
            thread_limit_set(limit, 0)
            for _ in 0..<40 { Thread.detachNewThread { Latch().wait() } }
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
