import BlobCore
import Foundation

/// A proxy on 127.0.0.1, before a server on another port, that injects faults into TCP connections.
///
/// One thread serves all connections; it ends when the proxy is released. Latencies and intervals are accurate to the
/// millisecond.
package final class FaultProxy: Sendable {
    /// The faults of one connection.
    package struct ConnectionFaults: Sendable {
        /// True to reset the connection at once, without one to the server.
        package var isRefused = false
        /// The faults on the way to the server.
        package var toServer: LinkFaults
        /// The faults on the way to the client.
        package var toClient: LinkFaults

        /// Creates a connection with these faults.
        package init(toServer: LinkFaults = LinkFaults(), toClient: LinkFaults = LinkFaults()) {
            (self.toServer, self.toClient) = (toServer, toClient)
        }
    }

    /// The numbers of connections and bytes since the start, without those that faults took away.
    package struct Counts: Equatable, Sendable {
        /// The number of connections of clients.
        package var connectionCount = 0
        /// The number of bytes passed on to the server.
        package var toServerByteCount: Int64 = 0
        /// The number of bytes passed on to clients.
        package var toClientByteCount: Int64 = 0
    }

    /// The port of the proxy.
    package let port: UInt16
    private let sharedCounts = Locked(Counts())
    private let stopDescriptor: CInt

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - serverPort: The port of the server, on 127.0.0.1.
    ///   - faults: Returns the faults of a connection, by its number from 0. Called on the thread of the proxy.
    package init(
        to serverPort: UInt16,
        _ faults: @escaping @Sendable (_ connection: Int) -> ConnectionFaults = { _ in ConnectionFaults() }
    ) throws {
        let listener = try LoopbackListener()
        var pipeEnds: [CInt] = [-1, -1]
        guard pipe(&pipeEnds) == 0 else { throw BlobError(systemError: errno, doing: "Could not make a pipe") }
        self.port = listener.port
        self.stopDescriptor = pipeEnds[1]
        let loop = ProxyLoop(listener.descriptor, pipeEnds[0], serverPort, faults, self.sharedCounts)
        Thread.detachNewThread { loop.run() }
    }

    deinit { close(self.stopDescriptor) }

    /// The numbers so far.
    package var counts: Counts { self.sharedCounts.withLock { $0 } }
}

/// The thread of a proxy. Used by that thread alone.
private final class ProxyLoop: @unchecked Sendable {  // Safe: handed over to its thread before that runs.
    private let listener: CInt
    private let stop: CInt
    private let serverPort: UInt16
    private let faults: @Sendable (Int) -> FaultProxy.ConnectionFaults
    private let counts: Locked<FaultProxy.Counts>
    private var connections: [ProxyConnection] = []

    init(
        _ listener: CInt, _ stop: CInt, _ serverPort: UInt16,
        _ faults: @escaping @Sendable (Int) -> FaultProxy.ConnectionFaults, _ counts: Locked<FaultProxy.Counts>
    ) {
        (self.listener, self.stop, self.serverPort) = (listener, stop, serverPort)
        (self.faults, self.counts) = (faults, counts)
    }

    func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer {
            buffer.deallocate()
            self.connections.forEach { $0.close() }
            for descriptor in [self.listener, self.stop] { close(descriptor) }
        }
        while true {
            let now = ContinuousClock.now
            var requests = [self.listener, self.stop].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            var wakeTime: ContinuousClock.Instant?
            for connection in self.connections {
                requests += connection.requests(at: now)
                wakeTime = [wakeTime, connection.wakeTime(at: now)].compactMap { $0 }.min()
            }
            _ = poll(&requests, nfds_t(requests.count), Self.timeout(until: wakeTime, from: now))
            if requests[1].revents != 0 { return }
            if requests[0].revents != 0 { self.accept() }
            for connection in self.connections { connection.move(buffer, self.counts) }
            self.connections.removeAll(where: \.isClosed)
        }
    }

    private static func timeout(until moment: ContinuousClock.Instant?, from now: ContinuousClock.Instant) -> CInt {
        guard let moment else { return -1 }
        let (seconds, attoseconds) = (moment - now).components
        return CInt(clamping: max(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000, 0))
    }

    private func accept() {
        let client = Foundation.accept(self.listener, nil, nil)
        guard client >= 0 else { return }
        let number = self.counts.withLock { counts in
            counts.connectionCount += 1
            return counts.connectionCount - 1
        }
        let faults = self.faults(number)
        let server = makeStreamSocket()
        var address = makeLoopbackAddress(port: self.serverPort)
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                !faults.isRefused && connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let connection = ProxyConnection(client: client, server: server, faults)
        if isConnected { self.connections.append(connection) } else { connection.reset() }
    }
}
