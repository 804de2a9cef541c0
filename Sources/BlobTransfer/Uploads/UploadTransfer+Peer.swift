import BlobCore
import BlobPlatform

// An answer claims that the server accepted the body. These checks show whether the connection allows that to be true.
extension UploadTransfer {
    /// Takes the connection of the request; returns false when the upload has ended, when it cannot be told which
    /// connection it is, and for another than the first: libcurl would repeat a request whose body it has, on one open
    /// connection after the other.
    func begin(localPort: CInt, remotePort: CInt) -> Bool {
        guard self.handle != nil else { return false }
        guard !self.hasBegun else {
            self.isStale = self.connection == .pooled && self.head.status == 0 && self.failure == nil
            return false
        }
        self.hasBegun = true
        self.socket = self.loop?.sockets.claim(localPort: localPort, remotePort: remotePort, for: self)
            .map(PeerSocket.init)
        guard self.socket != nil else { return false }
        self.noteWholeBody()
        return true
    }

    /// Ends the sending once the whole of a success has come over TLS: the closing message, which servers that do not
    /// read it answer with a reset as if it were an unread body, then stays here.
    func endSending() {
        guard self.isEncrypted, PeerSocket.tellsResets, self.connection == .own, self.isBodySent, self.sent > 0,
            self.head.isSuccess
        else { return }
        _ = self.socket?.shutDown()
    }

    func closes(_ descriptor: CInt) -> Bool {
        let socket = PeerSocket(descriptor)
        self.salvage(from: socket)
        self.socket = nil
        let isSuccess = self.head.isSuccess && self.isBodySent && self.sent > 0 && self.failure == nil
        // Over TLS the closing message is sent by now, and a server that has already closed responds with a reset.
        guard isSuccess, PeerSocket.tellsResets || !self.isEncrypted || !self.head.announcesClose else { return true }
        self.closing = socket
        return false
    }

    /// Checks, at the beginning of a success, that the server can have received all bytes of the body.
    ///
    /// The first segment of an answer acknowledges all that the server's system had received when it was sent.
    ///
    /// - Throws: ``BlobError/Code/io`` when bytes are unsent or unacknowledged.
    func checkBeginningOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == nil, (200..<300).contains(self.head.status), let handle else { return }
        let uploaded = handle.uploadedByteCount
        self.uploadedAtAnswer = uploaded
        let unsent = max(0, (self.byteCount ?? self.sent) - uploaded)
        let unacknowledged = Int64(self.socket?.unacknowledgedByteCount ?? 0)
        guard self.isBodySent, unsent + unacknowledged == 0 else {
            throw self.early("\(unsent + unacknowledged) bytes were unsent or unacknowledged")
        }
    }

    /// Checks, after a success, that no bytes were sent after its beginning.
    ///
    /// - Throws: ``BlobError/Code/io`` otherwise.
    func checkEndOfAnswer() throws(BlobError) {
        guard self.uploadedAtAnswer == self.handle?.uploadedByteCount else {
            throw self.early("bytes were still sent when the answer had begun")
        }
        // The connection stays open.
        if let socket, socket.hasFailed, let resetError { throw resetError }
    }

    /// The error of a success that a reset follows; nil without a success.
    var resetError: BlobError? {
        guard self.head.isSuccess else { return nil }
        return self.error(
            .io,
            "The server answered \(self.head.status) and reset the connection, as it would for an unread body; "
                + "\(self.stage).")
    }

    private func early(_ reason: String) -> BlobError {
        self.error(.io, "The server answered \(self.head.status) before it had taken the body: \(reason).")
    }

    /// Parses an answer that arrived before a reset, which libcurl does not read when sending fails first.
    private func salvage(from socket: PeerSocket) {
        guard self.head.status < 200, !self.isEncrypted else { return }
        withUnsafeTemporaryAllocation(byteCount: BlobUploadResponse.maximumBodyByteCount, alignment: 16) { buffer in
            let count = socket.receive(into: buffer)
            guard count > 0 else { return }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !self.head.isFinal, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                guard self.takeLine(UnsafeRawBufferPointer(rebasing: rest[...end])) else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            }
            // A chunked body would include its framing.
            if self.head.isFinal, self.head.value(of: "transfer-encoding") == nil { _ = self.takeBody(rest) }
        }
    }
}
