import BlobCore
import CCurl

extension UploadTransfer {
    /// Sets the options of the request.
    func setUp(_ handle: CurlHandle, _ loop: TransferLoop) throws(BlobError) {
        let url = try loop.urls.url(self.upload.url)
        self.url = url
        handle.setUp(url.text, self.settings, url.credentials)
        // A connection that is used again may be dead, and then the request is made again.
        if self.connection != .pooled { handle.set(CURLOPT_FRESH_CONNECT, 1) }
        // Only the end of a connection shows whether the server has read the body.
        if self.connection == .own { handle.set(CURLOPT_FORBID_REUSE, 1) }
        handle.set(CURLOPT_NOPROGRESS, 0)
        self.setUpBody(handle)
        handle.setHeaders(self.headerLines)
        // A server that ignores `Expect` is no connection on which nothing moves (RFC 9110, section 10.1.1).
        let idleLimit = self.upload.idleLimit ?? self.sourceLimit ?? Self.expectationTimeout * 2
        let timeout = min(Self.expectationTimeout, idleLimit / 2)
        handle.set(CURLOPT_EXPECT_100_TIMEOUT_MS, max(1, Int(timeout.timeInterval * 1000)))
        self.setCallbacks(handle)
    }

    /// The maximum number of bytes in a record of TLS (RFC 8446, section 5.1).
    private static let recordByteCount = 16 * 1024

    /// The maximum length of a body that is sent with its head over TLS: both fit in a record, unless the head is long.
    /// An answer that comes before a reset is read between two records, or never.
    private static let maximumEncryptedByteCount = recordByteCount / 2

    /// The body, if it has been read, and its connection is one that others use, too.
    private var wholeBody: UnsafeRawBufferPointer? {
        guard self.upload.method == .put, self.connection != .own, !self.isPaced, let byteCount, byteCount > 0,
            !self.isEncrypted || byteCount <= Self.maximumEncryptedByteCount
        else { return nil }
        return self.pump.wholeBody(byteCount)
    }

    private func setUpBody(_ handle: CurlHandle) {
        // Over TLS an answer that comes before a reset is read between two pieces, or never.
        handle.set(
            CURLOPT_UPLOAD_BUFFERSIZE,
            self.isEncrypted ? Self.recordByteCount : max(16 * 1024, self.pump.capacity / 2))
        if let wholeBody {
            // Of a POST below 64 KiB, libcurl sends the body with the head: one event of the server instead of two.
            handle.setBody(wholeBody)
            handle.set(CURLOPT_CUSTOMREQUEST, self.upload.method.rawValue)
            self.hasWholeBody = true
            return
        }
        switch self.upload.method {
        case .put:
            handle.set(CURLOPT_UPLOAD, 1)
            handle.set(CURLOPT_INFILESIZE_LARGE, bytes: self.byteCount ?? -1)
        case .post:
            handle.set(CURLOPT_POST, 1)
            handle.set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: self.byteCount ?? -1)
        case .patch:
            handle.set(CURLOPT_UPLOAD, 1)
            handle.set(CURLOPT_CUSTOMREQUEST, self.upload.method.rawValue)
            handle.set(CURLOPT_INFILESIZE_LARGE, bytes: self.byteCount ?? -1)
        case .head:
            handle.set(CURLOPT_NOBODY, 1)
            if self.upload.isRemoval { handle.set(CURLOPT_CUSTOMREQUEST, "DELETE") }
        }
    }

    /// The longest wait for an answer to `Expect` before the body is sent: libcurl's default.
    private static let expectationTimeout = Duration.seconds(1)

    private var settings: BlobTransferSettings {
        var settings = self.upload.settings
        settings.connectLimit = min(
            settings.connectLimit, self.upload.idleLimit ?? self.sourceLimit ?? settings.connectLimit)
        return settings
    }

    private var headerLines: [String] {
        var lines = self.upload.fields.map(\.line)
        func has(_ name: String) -> Bool { self.upload.fields.contains { $0.name.lowercased() == name } }
        if !has("content-type") { lines.append("Content-Type: " + (self.info.mediaType ?? "application/octet-stream")) }
        if !has("user-agent") { lines.append("User-Agent: BlobStreams") }
        if self.byteCount == nil { lines.append("Transfer-Encoding: chunked") }
        // `Expect` is worth a round trip only for bodies that are much larger than the system's buffers.
        if let count = self.byteCount, count < 1 << 20 { lines.append("Expect:") }
        return lines
    }
}
