import BlobCore
import Foundation

/// A server on 127.0.0.1 with a thread for each connection.
///
/// Ends its connections, and with them its threads, when it is released or stopped.
package final class LoopbackServer: Sendable {
    private struct State {
        /// The listening socket; nil once the server no longer accepts connections.
        var listener: CInt?
        var connections: Set<CInt> = []
        var connectionCount = 0
        var isStopped = false
    }

    /// The port of the server.
    package let port: UInt16
    // Descriptors are closed by their threads alone, and shut down under the lock: a number is never that of another file.
    private let state: Locked<State>

    /// Makes a server, which accepts connections once it is started.
    ///
    /// - Parameter receiveBufferByteCount: The size of the receive buffer of each connection; nil is the default of the
    ///   system.
    package init(receiveBufferByteCount: CInt? = nil) throws {
        let listener = try LoopbackListener(receiveBufferByteCount: receiveBufferByteCount)
        (self.port, self.state) = (listener.port, Locked(State(listener: listener.descriptor)))
    }

    deinit { self.stop() }

    /// The number of connections so far.
    package var connectionCount: Int { self.state.withLock { $0.connectionCount } }

    /// Accepts connections from now on. Called once.
    ///
    /// - Parameter serve: Serves a connection on a thread of its own; the connection is closed when it returns.
    package func start(_ serve: @escaping @Sendable (_ descriptor: CInt) -> Void) {
        guard let listener = self.state.withLock({ $0.listener }) else { return }
        Thread.detachNewThread { [state] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                state.withLock { state in
                    state.connections.insert(connection)
                    state.connectionCount += 1
                    if state.isStopped { shutdown(connection, CInt(SHUT_RDWR)) }
                }
                Thread.detachNewThread {
                    serve(connection)
                    state.withLock { _ = $0.connections.remove(connection) }
                    close(connection)
                }
            }
            state.withLock { $0.listener = nil }
            close(listener)
        }
    }

    /// Accepts no more connections, and ends the open ones for both sides.
    package func stop() {
        self.state.withLock { state in
            state.isStopped = true
            for descriptor in state.connections.union(state.listener.map { [$0] } ?? []) {
                shutdown(descriptor, CInt(SHUT_RDWR))
            }
        }
    }
}
