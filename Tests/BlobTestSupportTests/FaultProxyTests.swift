import BlobCore
import Foundation
import Testing

@testable import BlobTestSupport

@Suite(.timeLimit(.minutes(5))) struct FaultProxyTests {
    private let content = makeContent(300_001)

    @Test func bytesPassBothWaysAndAreCounted() async throws {
        let (server, content) = (try TestServer(.echo), content)
        let proxy = try FaultProxy(to: server.port)
        try await onThread {
            let client = try TestSocket(port: proxy.port)
            client.send(content)
            client.end()
            #expect(client.receiveAll() == .end(content))
        }
        #expect(
            proxy.counts
                == .init(connectionCount: 1, toServerByteCount: 300_001, toClientByteCount: 300_001))
    }

    @Test(arguments: [0, 1, 65_536, 300_000], [LinkFaults.Ending.end, .reset])
    func aConnectionIsCutAfterAnOffset(offset: Int, ending: LinkFaults.Ending) async throws {
        let (server, content) = (try TestServer(.send(self.content)), content)
        let proxy = try FaultProxy(to: server.port) { _ in
            .init(
                toClient: LinkFaults {
                    $0.cutOffset = Int64(offset)
                    $0.ending = ending
                })
        }
        let received = try await onThread { try TestSocket(port: proxy.port).receiveAll() }
        let bytes = Array(content.prefix(offset))
        #expect(received == (ending == .end ? .end(bytes) : .reset(bytes)))
        #expect(proxy.counts.toClientByteCount == offset)
    }

    @Test func aRequestIsCut() async throws {
        let (server, content) = (try TestServer(.echo), content)
        let proxy = try FaultProxy(to: server.port) { _ in .init(toServer: LinkFaults { $0.cutOffset = 1000 }) }
        let received = try await onThread {
            let client = try TestSocket(port: proxy.port)
            client.send(content)
            return client.receiveAll()
        }
        #expect(received.isReset)
        #expect(await server.received.values(count: 1) == [Array(content.prefix(1000))])
    }

    @Test func faultsAreChosenByTheNumberOfTheConnection() async throws {
        let (server, content) = (try TestServer(.send(self.content)), content)
        let proxy = try FaultProxy(to: server.port) { number in
            var faults = FaultProxy.ConnectionFaults()
            faults.isRefused = number == 0
            if number == 1 { faults.toClient.cutOffset = 10 }
            return faults
        }
        let received = try await onThread {
            try (0..<3).map { _ in try TestSocket(port: proxy.port).receiveAll() }
        }
        #expect(received == [.reset([]), .end(Array(content.prefix(10))), .end(content)])
        #expect(proxy.counts.connectionCount == 3)
    }

    @Test func aStalledConnectionStaysOpen() async throws {
        let server = try TestServer(.send(self.content))
        let proxy = try FaultProxy(to: server.port) { _ in .init(toClient: LinkFaults { $0.stallOffset = 1000 }) }
        try await onThread {
            let client = try TestSocket(port: proxy.port)
            #expect(client.receive(count: 1000).count == 1000)
            #expect(!client.hasNews(within: 100))
        }
    }

    /// A hundred messages take one latency in each direction, and not a hundred.
    @Test func latencyIsThatOfALink() async throws {
        let server = try TestServer(.echo)
        let latency = LinkFaults { $0.latency = .milliseconds(50) }
        let proxy = try FaultProxy(to: server.port) { _ in .init(toServer: latency, toClient: latency) }
        let time = try await onThread {
            let client = try TestSocket(port: proxy.port)
            return ContinuousClock().measure {
                for _ in 0..<100 { client.send([1, 2, 3]) }
                #expect(client.receive(count: 300).count == 300)
            }
        }
        #expect(time >= .milliseconds(100) && time < .seconds(5))
    }

    @Test func bytesDrip() async throws {
        let server = try TestServer(.send(Array(self.content.prefix(20))))
        let proxy = try FaultProxy(to: server.port) { _ in
            .init(toClient: LinkFaults { $0.drip = (5, .milliseconds(10)) })
        }
        let time = try await onThread {
            let client = try TestSocket(port: proxy.port)
            return ContinuousClock().measure { #expect(client.receive(count: 20).count == 20) }
        }
        #expect(time >= .milliseconds(30))
    }

    @Test func connectionsEndWithTheProxy() async throws {
        let server = try TestServer(.echo)
        var proxy: FaultProxy? = try FaultProxy(to: server.port)
        let port = try #require(proxy).port
        let client = try await onThread {
            let client = try TestSocket(port: port)
            client.send([1])
            #expect(client.receive(count: 1) == [1])
            return client
        }
        proxy = nil
        #expect(try await onThread { client.receiveAll() } == .end([]))
    }
}
