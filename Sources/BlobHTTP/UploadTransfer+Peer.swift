import BlobStreams
import Foundation

// An answer says that the server took the body. Its connection shows whether that can be true.
extension UploadTransfer {
    /// How long a server may take to end its direction of the connection after its answer.
    ///
    /// One that has read everything does so at once: the wait is a round trip. One that keeps its direction open costs
    /// each upload this much.
    private static let lingering = Duration.milliseconds(250)

    func begin(_ socket: PeerSocket) { self.sockets.append(socket) }

    /// The connection is about to be closed.
    func end(_ socket: PeerSocket) {
        self.salvage(from: socket)
        // Behind TLS the last message has gone out by now, and a server that has closed already resets because of that.
        if !self.isEncrypted { self.linger(on: socket) }
        self.sockets.removeAll { $0 == socket }
    }

    /// Looks, at the beginning of a success, for bytes of the body that the server cannot have had.
    ///
    /// The first segment of an answer acknowledges whatever the server's system had received when it was sent.
    ///
    /// - Throws: ``BlobError/Code/io``.
    func checkBeginningOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == nil, (200..<300).contains(self.head.status) else { return }
        let uploaded = self.handle.uploadedByteCount
        self.uploadedAtAnswer = uploaded
        let unsent = max(0, (self.byteCount ?? self.sent) - uploaded)
        let unacknowledged = Int64(self.sockets.last?.unacknowledgedByteCount ?? 0)
        guard self.isBodySent, unsent + unacknowledged == 0 else {
            throw self.early("\(unsent + unacknowledged) bytes were unsent or unacknowledged")
        }
    }

    /// Looks, after a success, for bytes that were sent behind its beginning, and for a reset.
    ///
    /// - Throws: ``BlobError/Code/io``.
    func checkEndOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == self.handle.uploadedByteCount else {
            throw self.early("bytes were still sent when the answer had begun")
        }
        // Still open, unless the server said that it closes: behind TLS nothing more may have been sent.
        if let socket = self.sockets.last { self.linger(on: socket) }
        self.handle.close()
        guard !self.isReset else {
            throw self.error(
                .io,
                "The server answered \(self.head.status) and reset the connection, as one does that has not read the body; "
                    + "\(self.stage).")
        }
    }

    private func early(_ reason: String) -> BlobError {
        self.error(.io, "The server answered \(self.head.status) before it had taken the body: \(reason).")
    }

    private func linger(on socket: PeerSocket) {
        guard !self.hasLingered, self.head.isSuccess, self.isBodySent, self.sent > 0, self.failure == nil else {
            return
        }
        self.hasLingered = true
        self.isReset = socket.isReset(within: Self.lingering)
    }

    private var isEncrypted: Bool { !self.upload.url.lowercased().hasPrefix("http://") }

    /// What the server had said before it reset the connection is still there, but libcurl has not read it when sending
    /// failed first.
    private func salvage(from socket: PeerSocket) {
        guard self.head.status < 200, !self.isEncrypted else { return }
        withUnsafeTemporaryAllocation(byteCount: HTTPResponse.maximumBodyByteCount, alignment: 16) { buffer in
            let count = socket.receive(into: buffer)
            guard count > 0 else { return }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !self.head.isFinal, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                guard self.takeLine(UnsafeRawBufferPointer(rebasing: rest[...end])) else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            }
            // A body in chunks would show its framing.
            if self.head.isFinal, self.head.value(of: "transfer-encoding") == nil { _ = self.takeBody(rest) }
        }
    }
}
