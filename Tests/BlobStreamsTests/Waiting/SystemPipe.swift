import BlobStreams
import Foundation
import Testing

/// A pipe of the system whose ends are closed with it.
final class SystemPipe: Sendable {
    let readEnd: CInt
    private let writeEnd: Locked<CInt>

    init() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        (self.readEnd, self.writeEnd) = (ends[0], Locked(ends[1]))
    }

    deinit {
        self.hangUp()
        _ = close(self.readEnd)
    }

    func write() { self.writeEnd.withLock { _ = Foundation.write($0, "x", 1) } }

    func hangUp() {
        self.writeEnd.withLock { end in
            if end >= 0 { _ = close(end) }
            end = -1
        }
    }
}
