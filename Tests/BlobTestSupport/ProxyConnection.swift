import BlobCore
import Foundation

/// One connection through a ``FaultProxy``: a socket of the client, one to the server, and a way in each direction.
final class ProxyConnection {
    /// One direction, with the sockets of its sender and its receiver.
    private struct Way {
        let sender: CInt
        let receiver: CInt
        var link: FaultyLink
        /// True once the receiver was told that no more comes.
        var isShut = false

        /// Takes what the sender sent; throws when its connection is broken.
        mutating func take(_ buffer: UnsafeMutableRawBufferPointer) throws(Broken) {
            guard self.link.takesBytes else { return }
            let count = recv(self.sender, buffer.baseAddress, buffer.count, 0)
            if count > 0 {
                self.link.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: .now)
            } else if count == 0 {
                self.link.end()
            } else if errno != EAGAIN {
                throw Broken()
            }
        }

        /// Passes on what is due; throws when the connection of the receiver is broken.
        ///
        /// - Returns: The number of bytes.
        mutating func pass() throws(Broken) -> Int {
            var total = 0
            while case let now = ContinuousClock.now, let bytes = self.link.due(at: now) {
                let count = bytes.withUnsafeBytes { sendQuietly(self.receiver, $0) }
                guard count > 0 else {
                    if count < 0, errno != EAGAIN { throw Broken() }
                    break
                }
                self.link.pass(count, at: now)
                total += count
            }
            if self.link.phase == .ended, !self.isShut {
                shutdown(self.receiver, CInt(SHUT_WR))
                self.isShut = true
            }
            return total
        }
    }

    private struct Broken: Error {}

    private enum State {
        case open
        /// The connection was cut; what the receiver of the cut bytes still sends is dropped, until it ends.
        case draining(CInt)
        /// The connection is reset once the receiver has acknowledged all bytes, as a reset overtakes them.
        case resetting(CInt)
        case closed
    }

    private var toServer: Way
    private var toClient: Way
    private var state = State.open

    init(client: CInt, server: CInt, _ faults: FaultProxy.ConnectionFaults) {
        self.toServer = Way(sender: client, receiver: server, link: FaultyLink(faults.toServer))
        self.toClient = Way(sender: server, receiver: client, link: FaultyLink(faults.toClient))
        var yes: CInt = 1
        for descriptor in [client, server] {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        }
    }

    var isClosed: Bool {
        if case .closed = self.state { true } else { false }
    }

    /// The two events to wait for. A negative descriptor is not waited for.
    func requests(at now: ContinuousClock.Instant) -> [pollfd] {
        func request(_ descriptor: CInt, _ events: CInt) -> pollfd {
            // A socket of which nothing is expected would wake the thread again and again once it is hung up.
            pollfd(fd: events == 0 ? -1 : descriptor, events: Int16(events), revents: 0)
        }
        func request(_ from: Way, _ to: Way) -> pollfd {
            request(from.sender, (from.link.takesBytes ? POLLIN : 0) | (to.link.due(at: now) == nil ? 0 : POLLOUT))
        }
        return switch self.state {
        case .open: [request(self.toServer, self.toClient), request(self.toClient, self.toServer)]
        case .draining(let descriptor): [request(descriptor, POLLIN), request(-1, 0)]
        case .resetting, .closed: [request(-1, 0), request(-1, 0)]
        }
    }

    /// The time at which ``move(_:_:)`` has something to do even without events; nil when it has not.
    func wakeTime(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        switch self.state {
        case .open: [self.toServer, self.toClient].compactMap(\.link.wakeTime).filter { $0 > now }.min()
        case .resetting: now + .milliseconds(1)
        case .draining, .closed: nil
        }
    }

    /// Moves what bytes there are, and ends what is to end.
    func move(_ buffer: UnsafeMutableRawBufferPointer, _ counts: Locked<FaultProxy.Counts>) {
        switch self.state {
        case .closed: break
        case .resetting(let descriptor):
            // A receiver that has reset the connection itself acknowledges nothing any more.
            var request = pollfd(fd: descriptor, events: 0, revents: 0)
            guard unacknowledgedByteCount(descriptor) == 0 || poll(&request, 1, 0) > 0 else { return }
            Self.reset(descriptor)
            self.state = .closed
        case .draining(let descriptor):
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count == 0 || (count < 0 && errno != EAGAIN) else { return }
            Foundation.close(descriptor)
            self.state = .closed
        case .open:
            do {
                try self.toServer.take(buffer)
                try self.toClient.take(buffer)
                let (up, down) = (try self.toServer.pass(), try self.toClient.pass())
                if up > 0 || down > 0 {
                    counts.withLock { counts in
                        counts.toServerByteCount += Int64(up)
                        counts.toClientByteCount += Int64(down)
                    }
                }
                self.finish()
            } catch {
                self.reset()
            }
        }
    }

    private func finish() {
        for way in [self.toServer, self.toClient] where way.link.phase == .cut {
            Self.reset(way.sender)
            switch way.link.faults.ending {
            case .reset: self.state = .resetting(way.receiver)
            case .end:
                shutdown(way.receiver, CInt(SHUT_WR))
                self.state = .draining(way.receiver)
            }
            return
        }
        let isOver = [self.toServer, self.toClient].allSatisfy { $0.isShut || $0.link.phase == .stalled }
        if isOver { self.close() }
    }

    /// Closes both sockets, in an orderly way.
    func close() {
        switch self.state {
        case .open: for descriptor in [self.toServer.sender, self.toServer.receiver] { Foundation.close(descriptor) }
        case .draining(let descriptor), .resetting(let descriptor): Foundation.close(descriptor)
        case .closed: break
        }
        self.state = .closed
    }

    /// Resets both connections.
    func reset() {
        for descriptor in [self.toServer.sender, self.toServer.receiver] { Self.reset(descriptor) }
        self.state = .closed
    }

    private static func reset(_ descriptor: CInt) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        Foundation.close(descriptor)
    }
}
