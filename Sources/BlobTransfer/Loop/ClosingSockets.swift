import BlobCore
import CCurl

/// The sockets of successful uploads, whose peers have yet to close their side.
package struct ClosingSockets {
    private struct Closing {
        let socket: PeerSocket
        let end: Moment
        let done: (_ isReset: Bool) -> Void
    }

    private var closings: [Closing] = []

    var isEmpty: Bool { self.closings.isEmpty }

    /// The first end of a wait; nil without one.
    var end: Moment? { self.closings.map(\.end).min() }

    /// The sockets with the events to wait for, in libcurl's form.
    var waits: [curl_waitfd] {
        self.closings.map { curl_waitfd(fd: $0.socket.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0) }
    }

    /// Shuts down sending, and waits at most for `limit` until the peer closes its side too, or resets the connection.
    ///
    /// - Parameter done: Called once, after the socket was closed.
    mutating func close(_ socket: PeerSocket, within limit: Duration, done: @escaping (_ isReset: Bool) -> Void) {
        let closing = Closing(socket: socket, end: Moment(.now + limit), done: done)
        // A reset before the shutdown cannot be a reaction to it.
        if let isReset = socket.takeReset() { return Self.end(closing, isReset: isReset) }
        guard socket.shutDown() else { return Self.end(closing, isReset: socket.takeReset() ?? false) }
        self.closings.append(closing)
    }

    /// Ends the waits that are over.
    mutating func check() {
        guard !self.closings.isEmpty else { return }
        let now = Moment.now
        self.closings.removeAll { closing in
            let isReset = closing.socket.takeReset() ?? (now >= closing.end ? false : nil)
            if let isReset { Self.end(closing, isReset: isReset) }
            return isReset != nil
        }
    }

    /// Closes all sockets without waiting; none counts as reset.
    mutating func endAll() {
        for closing in self.closings { Self.end(closing, isReset: false) }
        self.closings = []
    }

    private static func end(_ closing: Closing, isReset: Bool) {
        closing.socket.close()
        closing.done(isReset)
    }
}
