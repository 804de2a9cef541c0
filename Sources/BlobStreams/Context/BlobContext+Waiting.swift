import Foundation

extension BlobContext {
    /// When a step that begins now must have got its first byte.
    func stepLimit() -> StepLimit {
        let idleEnd = self.idleLimit.map { Moment(.now.advanced(by: $0)) }
        guard let deadline = self.lastMoment else { return StepLimit(end: idleEnd, isIdleLimit: true) }
        guard let idleEnd, idleEnd < deadline else { return StepLimit(end: deadline, isIdleLimit: false) }
        return StepLimit(end: idleEnd, isIdleLimit: true)
    }

    struct StepLimit {
        let end: Moment?
        let isIdleLimit: Bool

        /// How long there still is, at least zero; nil is for ever.
        var remaining: Duration? { self.end?.remaining }

        func error(idleLimit: Duration?) -> BlobError {
            guard self.isIdleLimit, let idleLimit else {
                return BlobError(.timedOut, "The deadline of the job passed.")
            }
            return BlobError(.timedOut, "No byte moved for \(idleLimit), which is the idle limit.")
        }
    }

    /// Blocks until `condition` gives a value, looking again after each signal.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` or ``BlobError/Code/timedOut``, for the deadline and the idle limit
    ///   alike.
    package func wait<Value>(
        on signal: WaitSignal, until condition: () throws(BlobError) -> Value?
    ) throws(BlobError) -> Value {
        let limit = self.stepLimit()
        let registration = self.onCancel { signal.signal() }
        defer { registration.remove() }
        while true {
            try self.check()
            if let value = try condition() { return value }
            guard signal.wait(for: limit.remaining) else {
                if let value = try condition() { return value }
                throw limit.error(idleLimit: self.idleLimit)
            }
        }
    }

    /// Blocks until `descriptor` has bytes to read, its other end is gone, or the job is over.
    ///
    /// For plugins that would otherwise block in `read(2)`. The descriptor may be in blocking mode. Costs one system
    /// call when bytes are there; a wait makes two descriptors and closes them again.
    ///
    /// - Throws: ``BlobError/Code/cancelled``, ``BlobError/Code/timedOut``, or ``BlobError/Code/io``.
    public func waitReadable(_ descriptor: CInt) throws(BlobError) {
        try self.check()
        if try pollForReading([descriptor], timeout: .zero) { return }
        let wakeUp = try WakePipe()
        let limit = self.stepLimit()
        let registration = self.onCancel { wakeUp.wake() }
        defer { registration.remove() }
        while true {
            try self.check()
            let remaining = limit.remaining
            if try pollForReading([descriptor, wakeUp.readEnd], timeout: remaining) {
                try self.check()
                return
            }
            if let end = limit.end, Moment.now >= end { throw limit.error(idleLimit: self.idleLimit) }
        }
    }
}

/// True when one of `descriptors` is readable or hung up; false after `timeout` (nil: never) or an interruption.
private func pollForReading(_ descriptors: [CInt], timeout: Duration?) throws(BlobError) -> Bool {
    var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // Rounded up, so that a wait does not end a fraction of a millisecond before its limit and spin.
    let milliseconds = timeout.map { Int32(min(($0.timeInterval * 1000).rounded(.up), Double(Int32.max))) } ?? -1
    let count = poll(&requests, nfds_t(requests.count), milliseconds)
    if count < 0, errno != EINTR, errno != EAGAIN {
        throw BlobError(systemError: errno, doing: "Could not wait for input")
    }
    if requests[0].revents & Int16(POLLNVAL) != 0 {
        throw BlobError(systemError: EBADF, doing: "Could not wait for input")
    }
    return count > 0
}

/// A pipe whose only message is "look again".
private final class WakePipe: Sendable {
    let readEnd: CInt
    private let writeEnd: CInt

    init() throws(BlobError) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BlobError(systemError: errno, doing: "Could not make a pipe to wait on") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (self.readEnd, self.writeEnd) = (ends[0], ends[1])
    }

    // The registered handler holds this object, so no descriptor is written to after it was closed.
    deinit {
        _ = Foundation.close(self.readEnd)
        _ = Foundation.close(self.writeEnd)
    }

    func wake() {
        var byte: UInt8 = 1
        _ = Foundation.write(self.writeEnd, &byte, 1)
    }
}
