import BlobPlatform

extension BlobContext {
    /// Returns the limit for the first byte of a step that begins now.
    package func stepLimit() -> StepLimit {
        let idleEnd = self.idleLimit.map { Moment(.now.advanced(by: $0)) }
        guard let deadline = self.lastMoment else { return StepLimit(end: idleEnd, isIdleLimit: true) }
        guard let idleEnd, idleEnd < deadline else { return StepLimit(end: deadline, isIdleLimit: false) }
        return StepLimit(end: idleEnd, isIdleLimit: true)
    }

    package struct StepLimit {
        package let end: Moment?
        package let isIdleLimit: Bool

        /// The time that remains, at least zero; nil is for ever.
        package var remaining: Duration? { self.end?.remaining }

        package func error(idleLimit: Duration?) -> BlobError {
            guard self.isIdleLimit, let idleLimit else {
                return BlobError(.timedOut, "The deadline of the job passed.")
            }
            return BlobError(.timedOut, "No byte moved for \(idleLimit), which is the idle limit.", remedy: .idleLimit)
        }
    }

    /// Blocks until `condition` returns a value; it is checked again after each signal.
    ///
    /// - Throws: ``BlobError/Code/cancelled`` or ``BlobError/Code/timedOut``, for the deadline and the idle limit
    ///   alike.
    package func wait<Value>(
        on signal: WaitSignal, until condition: () throws(BlobError) -> Value?
    ) throws(BlobError) -> Value {
        let limit = self.stepLimit()
        let registration = self.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        while true {
            try self.check()
            if let value = try condition() { return value }
            guard signal.wait(for: limit.remaining) else {
                if let value = try condition() { return value }
                throw limit.error(idleLimit: self.idleLimit)
            }
        }
    }

    /// Blocks until `descriptor` has bytes to read, its other end is closed, or the job is over.
    ///
    /// For plugins that would otherwise block in `read(2)`. The descriptor may be in blocking mode. Costs one system
    /// call when bytes are available; otherwise the wait parks the descriptor, see ``park(_:_:)``.
    ///
    /// - Throws: ``BlobError/Code/cancelled``, ``BlobError/Code/timedOut``, or ``BlobError/Code/io``.
    public func waitReadable(_ descriptor: CInt) throws(BlobError) {
        try self.check()
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&request, 1, 0) > 0, request.revents & Int16(POLLNVAL) == 0 { return }
        let signal = WaitSignal()
        let isReady = Locked(false)
        let parking = try self.park(
            descriptor,
            BlobWaker {
                isReady.withLock { $0 = true }
                signal.signal()
            })
        defer { parking.cancel() }
        try self.wait(on: signal) { isReady.withLock { $0 } ? () : nil }
    }

    /// Reads the next bytes of a descriptor, waiting as ``waitReadable(_:)`` does while there are none.
    ///
    /// - Returns: ``BlobReadResult/end`` at the end of a file, or when the other end is closed.
    /// - Throws: As ``waitReadable(_:)``, and ``BlobError/Code/io`` with the `errno` of `read(2)`.
    public func read(_ descriptor: CInt, into output: inout OutputRawSpan) throws(BlobError) -> BlobReadResult {
        while true {
            try self.waitReadable(descriptor)
            let count = output.withUnsafeMutableBytes { buffer, initializedCount in
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                let count = BlobPlatform.read(descriptor, free.baseAddress, free.count)
                initializedCount += max(count, 0)
                return count
            }
            if count >= 0 { return count > 0 ? .bytes : .end }
            // Another reader of the same description was faster, or a signal came.
            guard errno == EAGAIN || errno == EINTR else {
                throw BlobError(systemError: errno, doing: "Could not read a descriptor")
            }
        }
    }
}
