internal import CArchiveHelper

/// One end of the socket between a process and its helper; closes it. Has one owner.
package final class ExchangeChannel {
    /// The reason why no frame can be sent or received.
    package enum Failure: Error {
        /// The other side is gone.
        case closed
        /// The other side does not keep to the protocol.
        case malformed
        /// A system call failed with this `errno`.
        case system(CInt)

        fileprivate init(_ error: CInt) { self = blob_is_end(error) ? .closed : .system(error) }
    }

    private let socket: CInt
    private let buffer: UnsafeMutableRawBufferPointer
    /// The bytes of the buffer that were received and not taken.
    private var received = 0..<0

    package init(socket: CInt) {
        self.socket = socket
        self.buffer = .allocate(byteCount: 4096, alignment: 8)
    }

    deinit {
        blob_close(self.socket)
        self.buffer.deallocate()
    }

    /// Sends a frame; its payload must not be longer than the maximum.
    package func send(_ frame: ExchangeFrame) throws(Failure) {
        precondition(frame.payload.count <= ExchangeFrame.maximumPayloadByteCount, "The payload is too long.")
        let count = ExchangeFrame.byteCount + frame.payload.count
        let error = withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { bytes in
            blob_send(self.socket, bytes.baseAddress, frame.write(to: bytes))
        }
        guard error == 0 else { throw Failure(error) }
    }

    /// Receives a frame.
    ///
    /// - Parameter idle: Called each time that the limit of the socket passes without bytes; throws to give up.
    package func receive<Stop: Error>(idle: () throws(Stop) -> Void) throws(Stop) -> Result<ExchangeFrame, Failure> {
        if let failure = try self.fill(ExchangeFrame.byteCount, idle) { return .failure(failure) }
        var payloadByteCount = 0
        let start = UnsafeRawBufferPointer(rebasing: self.buffer[self.received])
        guard var frame = ExchangeFrame(start, payloadByteCount: &payloadByteCount) else { return .failure(.malformed) }
        self.take(ExchangeFrame.byteCount)
        while frame.payload.count < payloadByteCount {
            let wanted = min(payloadByteCount - frame.payload.count, self.buffer.count)
            if let failure = try self.fill(wanted, idle) { return .failure(failure) }
            frame.payload += self.buffer[self.received.prefix(wanted)]
            self.take(wanted)
        }
        return .success(frame)
    }

    private func take(_ count: Int) {
        self.received.removeFirst(count)
        // Numbers are read where they are aligned.
        let rest = UnsafeRawBufferPointer(rebasing: self.buffer[self.received])
        if !rest.isEmpty { self.buffer.copyMemory(from: rest) }
        self.received = 0..<rest.count
    }

    /// Receives until the buffer has `count` bytes; returns the reason when it cannot.
    private func fill<Stop: Error>(_ count: Int, _ idle: () throws(Stop) -> Void) throws(Stop) -> Failure? {
        while self.received.count < count {
            let room = UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.received.upperBound...])
            let more = blob_receive(self.socket, room.baseAddress, room.count)
            if more == 0 { return .closed }
            if more > 0 {
                self.received = 0..<(self.received.upperBound + more)
            } else if CInt(-more) == blob_again() {
                try idle()
            } else {
                return Failure(CInt(-more))
            }
        }
        return nil
    }
}

extension Range<Int> {
    fileprivate mutating func removeFirst(_ count: Int) { self = (self.lowerBound + count)..<self.upperBound }
    fileprivate func prefix(_ count: Int) -> Range<Int> { self.lowerBound..<(self.lowerBound + count) }
}
