internal import CHelper

/// One end of the socket between a process and its helper, which it closes. Has one owner.
package final class ExchangeChannel {
    /// The reason why no frame can be sent or received.
    package enum Failure: Error {
        /// The other side is gone.
        case closed
        /// The other side violates the protocol.
        case malformed
        /// A system call failed with this `errno`.
        case system(CInt)

        fileprivate init(_ error: CInt) { self = blob_is_end(error) ? .closed : .system(error) }
    }

    /// The maximum number of open files that are sent with one frame.
    package static let maximumDescriptorCount = Int(blob_maximum_descriptor_count)

    package let socket: CInt
    private let buffer: UnsafeMutableRawBufferPointer
    private let acceptsDescriptors: Bool
    /// The descriptors that arrived with the last frames and have not been taken.
    private var descriptors: [CInt] = []
    /// The range of the received bytes in the buffer that have not been taken.
    private var receivedRange = 0..<0

    /// Creates the end of a connected socket.
    ///
    /// - Parameter acceptsDescriptors: True for a helper to which open files are sent.
    package init(socket: CInt, acceptsDescriptors: Bool = false) {
        self.socket = socket
        self.acceptsDescriptors = acceptsDescriptors
        self.buffer = .allocate(byteCount: 4096, alignment: 8)
    }

    deinit {
        blob_close(self.socket)
        self.buffer.deallocate()
        for descriptor in self.descriptors { blob_close(descriptor) }
    }

    /// Returns the open files that were sent with the last frame; the caller owns them.
    package func takeDescriptors() -> [CInt] {
        defer { self.descriptors = [] }
        return self.descriptors
    }

    /// Sends a frame; its payload must not be longer than the maximum.
    ///
    /// - Parameter descriptors: At most ``maximumDescriptorCount`` open files, of which the other side receives copies.
    package func send(_ frame: ExchangeFrame, _ descriptors: [CInt] = []) throws(Failure) {
        precondition(
            frame.payload.count <= ExchangeFrame.maximumPayloadByteCount,
            "The payload must not be longer than the limit.")
        let count = ExchangeFrame.byteCount + frame.payload.count
        let error = withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { bytes in
            blob_send(self.socket, bytes.baseAddress, frame.write(to: bytes), descriptors, CInt(descriptors.count))
        }
        guard error == 0 else { throw Failure(error) }
    }

    /// Receives a frame.
    ///
    /// - Parameter idle: A closure that is called each time the socket's timeout passes without bytes; it throws to
    ///   give up.
    package func receive<Stop: Error>(idle: () throws(Stop) -> Void) throws(Stop) -> Result<ExchangeFrame, Failure> {
        if let failure = try self.fill(ExchangeFrame.byteCount, idle) { return .failure(failure) }
        var payloadByteCount = 0
        let start = UnsafeRawBufferPointer(rebasing: self.buffer[self.receivedRange])
        guard var frame = ExchangeFrame(start, payloadByteCount: &payloadByteCount) else { return .failure(.malformed) }
        self.take(ExchangeFrame.byteCount)
        while frame.payload.count < payloadByteCount {
            let wanted = min(payloadByteCount - frame.payload.count, self.buffer.count)
            if let failure = try self.fill(wanted, idle) { return .failure(failure) }
            frame.payload += self.buffer[self.receivedRange.prefix(wanted)]
            self.take(wanted)
        }
        return .success(frame)
    }

    /// Answers commands until the other process closes the socket, then ends this process.
    package func serve(_ answer: (ExchangeFrame) -> ExchangeFrame) -> Never {
        while case .success(let command) = self.receive(idle: {}), (try? self.send(answer(command))) != nil {}
        blob_exit(0)
    }

    private func take(_ count: Int) {
        self.receivedRange.removeFirst(count)
        // Moved to the front, so that numbers are read aligned.
        let rest = UnsafeRawBufferPointer(rebasing: self.buffer[self.receivedRange])
        if !rest.isEmpty { self.buffer.copyMemory(from: rest) }
        self.receivedRange = 0..<rest.count
    }

    private func receive(into room: UnsafeMutableRawBufferPointer) -> Int {
        guard self.acceptsDescriptors else { return blob_receive(self.socket, room.baseAddress, room.count) }
        return withUnsafeTemporaryAllocation(of: CInt.self, capacity: Self.maximumDescriptorCount) { received in
            var count: CInt = 0
            let result = blob_receive_with_descriptors(
                self.socket, room.baseAddress, room.count, received.baseAddress, &count)
            self.descriptors += received.prefix(Int(count))
            return result
        }
    }

    /// Receives until the buffer has `count` bytes; returns the reason on failure.
    private func fill<Stop: Error>(_ count: Int, _ idle: () throws(Stop) -> Void) throws(Stop) -> Failure? {
        while self.receivedRange.count < count {
            let room = UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.receivedRange.upperBound...])
            let more = self.receive(into: room)
            if more == 0 { return .closed }
            if more > 0 {
                self.receivedRange = 0..<(self.receivedRange.upperBound + more)
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
