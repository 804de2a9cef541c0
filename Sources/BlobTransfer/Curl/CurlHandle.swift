import BlobCore
import BlobPlatform
import CCurl

/// A libcurl request for a ``CurlMulti``. Use it on one thread at a time.
final class CurlHandle {
    private var easy: UnsafeMutableRawPointer?
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var setupCode = CURLE_OK
    /// The transfer that the callbacks use, retained until the request is freed.
    private var owner: (any LoopTransfer)?

    /// - Throws: ``BlobError/Code/unavailable`` if libcurl is missing or memory is exhausted.
    init() throws(BlobError) {
        try CurlLibrary.load()
        guard let easy = blob_curl_easy_init() else { throw CurlLibrary.startError }
        self.easy = easy
        self.errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        self.errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(self.errorBuffer))
    }

    deinit {
        self.close()
        self.errorBuffer.deallocate()
    }

    /// The identity of the request within its multi handle; nil once it is closed.
    var identity: UnsafeMutableRawPointer? { self.easy }

    // MARK: Setting up

    func set(_ option: CURLoption, _ value: Int) {
        self.recordSetupResult(blob_curl_set_long(self.easy, option, value))
    }

    func set(_ option: CURLoption, bytes: Int64) {
        self.recordSetupResult(blob_curl_set_offset(self.easy, option, bytes))
    }

    func set(_ option: CURLoption, _ text: String) {
        // Explicit, because an implicit conversion would copy the text.
        self.recordSetupResult(text.withCString { blob_curl_set_text(self.easy, option, $0) })
    }

    func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer) {
        self.recordSetupResult(blob_curl_set_pointer(self.easy, option, pointer))
    }

    /// Sets a body to send together with the head, using POST unless another method is set.
    ///
    /// - Parameter body: The bytes, which must remain valid until the handle is closed.
    func setBody(_ body: UnsafeRawBufferPointer) {
        self.set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: Int64(body.count))
        let pointer = UnsafeMutableRawPointer(mutating: body.baseAddress)
        self.recordSetupResult(blob_curl_set_pointer(self.easy, CURLOPT_POSTFIELDS, pointer))
    }

    func setReader(_ reader: @escaping curl_read_callback) {
        self.recordSetupResult(blob_curl_set_reader(self.easy, reader))
    }

    func setSeeker(_ seeker: @escaping curl_seek_callback) {
        self.recordSetupResult(blob_curl_set_seeker(self.easy, seeker))
    }

    private func setWriter(_ option: CURLoption, _ writer: @escaping curl_write_callback) {
        self.recordSetupResult(blob_curl_set_writer(self.easy, option, writer))
    }

    func setProgress(_ progress: @escaping curl_xferinfo_callback) {
        self.recordSetupResult(blob_curl_set_progress(self.easy, progress))
    }

    func setCloser(_ closer: @escaping curl_closesocket_callback) {
        self.recordSetupResult(blob_curl_set_closer(self.easy, closer))
    }

    /// Sets an observer of the request's sockets.
    ///
    /// - Parameter observer: Called with each socket before it is connected.
    func setSocketObserver(_ observer: @escaping curl_sockopt_callback) {
        self.recordSetupResult(blob_curl_set_socket_observer(self.easy, observer))
    }

    /// Sets a callback that can prevent the request.
    ///
    /// - Parameter prerequisite: Called once a connection exists, before the request is sent.
    func setPrerequisite(_ prerequisite: @escaping curl_prereq_callback) {
        self.recordSetupResult(blob_curl_set_prerequisite(self.easy, prerequisite))
    }

    /// Sets the options common to all requests, and the settings of their connection.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL without credentials.
    ///   - urlCredentials: The credentials in the first URL, if any.
    ///   - mayAuthenticate: False if a redirection has led to another origin.
    func setUp(
        _ url: String, _ settings: BlobTransferSettings, _ urlCredentials: BlobTransferSettings.Credentials?,
        mayAuthenticate: Bool = true
    ) {
        self.set(CURLOPT_URL, url)
        // Keeps the path unchanged, because it may be signed, and a store's key may contain the segment `..`.
        self.set(CURLOPT_PATH_AS_IS, 1)
        // Leaves the process's signal handlers unchanged, and allows cancelling without waiting for a name server.
        self.set(CURLOPT_NOSIGNAL, 1)
        self.set(CURLOPT_QUICK_EXIT, 1)
        // HTTP/2 stalls and spins on large uploads before libcurl 8.2.
        self.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        self.set(CURLOPT_HTTP09_ALLOWED, 0)
        self.set(CURLOPT_FOLLOWLOCATION, 0)
        self.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        self.set(CURLOPT_CONNECTTIMEOUT_MS, Int(settings.connectLimit.timeInterval * 1000))
        if let proxy = settings.proxy { self.set(CURLOPT_PROXY, proxy) }
        if let file = settings.certificateFile { self.set(CURLOPT_CAINFO, file) }
        if settings.isInsecure {
            self.set(CURLOPT_SSL_VERIFYPEER, 0)
            self.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        guard mayAuthenticate else { return }
        if let file = settings.clientCertificateFile {
            self.set(CURLOPT_SSLCERT, file)
            self.set(CURLOPT_SSLKEY, settings.clientKeyFile ?? file)
            // Without a password, OpenSSL would prompt for the password of an encrypted key.
            self.set(CURLOPT_KEYPASSWD, "")
        }
        if let credentials = settings.credentials ?? urlCredentials {
            self.set(CURLOPT_USERNAME, credentials.user)
            self.set(CURLOPT_PASSWORD, credentials.password)
        } else if let file = settings.netrcFile {
            self.set(CURLOPT_NETRC, Int(CURL_NETRC_REQUIRED.rawValue))
            self.set(CURLOPT_NETRC_FILE, file)
        }
    }

    /// Shares an HTTP/2 connection with other requests once the server has shown that it supports HTTP/2.
    ///
    /// Call this for short responses only, so that long reads are not subject to the limits of one connection.
    func shareConnection() {
        self.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        self.set(CURLOPT_PIPEWAIT, 1)
    }

    func setHeaders(_ lines: [String]) {
        for line in lines {
            guard let longer = line.withCString({ blob_curl_list_append(self.headers, $0) }) else {
                return self.recordSetupResult(CURLE_OUT_OF_MEMORY)
            }
            self.headers = longer
        }
        self.recordSetupResult(blob_curl_set_list(self.easy, CURLOPT_HTTPHEADER, self.headers))
    }

    /// Passes the response to a transfer on the loop's thread, and retains the transfer until the request is freed.
    func receive(for owner: any LoopTransfer) {
        self.owner = owner
        let this = Unmanaged.passUnretained(self).toOpaque()
        self.set(CURLOPT_HEADERDATA, this)
        self.set(CURLOPT_WRITEDATA, this)
        // With CURLOPT_HEADERDATA alone, libcurl would pass the lines of the head to the write function.
        self.setWriter(CURLOPT_HEADERFUNCTION) { buffer, size, count, data in
            let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
            return CurlHandle.owner(data)?.receiveLine(line) == true ? line.count : 0
        }
        self.setWriter(CURLOPT_WRITEFUNCTION) { buffer, size, count, data in
            CurlHandle.owner(data)?.receiveBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? 0
        }
    }

    private static func owner(_ handle: UnsafeMutableRawPointer?) -> (any LoopTransfer)? {
        handle.flatMap { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue().owner }
    }

    private func recordSetupResult(_ code: CURLcode) {
        // An option unknown to an older library is an optional refinement; all other options are required.
        if self.setupCode == CURLE_OK, code != CURLE_UNKNOWN_OPTION { self.setupCode = code }
    }

    /// Checks that libcurl accepted every option, and restricts the request to HTTP.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if libcurl refused an option; ``BlobError/Code/unavailable`` if it
    ///   ran out of memory.
    func finishSetup() throws(BlobError) {
        self.recordSetupResult(blob_curl_set_http_only(self.easy))
        guard self.setupCode != CURLE_OUT_OF_MEMORY else { throw CurlLibrary.startError }
        guard self.setupCode == CURLE_OK else {
            throw BlobError(.invalidArgument, "libcurl refused the request: \(Self.text(of: self.setupCode)).")
        }
    }

    /// Resumes the request after a callback paused it. Callbacks may run before this method returns.
    func resume() { if let easy { blob_curl_easy_pause(easy, CURLPAUSE_CONT) } }

    /// Frees the request, which must already be removed from its multi handle. A second call has no effect.
    func close() {
        guard let easy else { return }
        self.easy = nil
        blob_curl_easy_cleanup(easy)
        blob_curl_list_free(self.headers)
        self.headers = nil
        self.owner = nil
    }

    // MARK: Results

    /// The `errno` of the failed connection; nil if no system error occurred.
    private var systemErrorNumber: CInt? {
        var number = 0
        guard let easy, blob_curl_get_long(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 else {
            return nil
        }
        return CInt(clamping: number)
    }

    /// The number of body bytes sent, including chunk framing; 0 once the handle is closed.
    var uploadedByteCount: Int64 {
        var count: Int64 = 0
        guard let easy, blob_curl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T, &count) == CURLE_OK else { return 0 }
        return count
    }

    /// True if the request reused an existing connection.
    var hasReusedConnection: Bool {
        var count = 0
        guard let easy, blob_curl_get_long(easy, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK else { return false }
        return count == 0
    }

    /// True once the host name is resolved or a connection is reused.
    var hasAddress: Bool {
        var microseconds: Int64 = 0
        guard let easy else { return true }
        return blob_curl_get_offset(easy, CURLINFO_NAMELOOKUP_TIME_T, &microseconds) != CURLE_OK || microseconds > 0
    }

    /// Returns libcurl's description of an error. Removes secrets from the quoted text, because libcurl quotes a proxy
    /// URL that it cannot parse.
    private func explanation(of code: CURLcode) -> String {
        let text = String(cString: self.errorBuffer)
        guard !text.isEmpty else { return Self.text(of: code) }
        guard let start = text.firstIndex(of: "'"), let end = text.lastIndex(of: "'"), start < end else { return text }
        return "\(text[...start])\(printableURL(String(text[start..<end].dropFirst())))\(text[end...])"
    }

    /// Returns the error for a request's result code.
    ///
    /// - Parameters:
    ///   - stage: The progress of the upload, which ends the message; nil for a request without a body.
    ///   - isRepeatable: True if the request may be repeated after the server has received it.
    func error(for code: CURLcode, stage: String? = nil, isRepeatable: Bool = true) -> BlobError {
        let text = self.explanation(of: code)
        let end = stage.map { "; \($0)." } ?? "."
        func error(_ kind: BlobError.Code, _ what: String, isTransient: Bool = isRepeatable) -> BlobError {
            BlobError(kind, what + end, isTransient: isTransient)
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return BlobError(.unavailable, "Could not connect: \(text).", isTransient: true)
        case CURLE_OPERATION_TIMEDOUT:
            return BlobError(.timedOut, "Could not connect: \(text).", isTransient: true)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_INVALIDCERTSTATUS:
            return BlobError(.unavailable, "Could not establish a secure connection: \(text).", isTransient: false)
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
            return error(.corrupted, "The response is not valid HTTP: \(text)", isTransient: false)
        case CURLE_PARTIAL_FILE: return error(.truncated, "The response was cut off: \(text)")
        case CURLE_OUT_OF_MEMORY:  // libcurl's result for a header line without an end.
            return error(.limitExceeded, "The header of the response is too large: \(text)", isTransient: false)
        // The request would have to be sent again on a connection that was already used.
        case CURLE_SEND_FAIL_REWIND, CURLE_GOT_NOTHING:
            return error(.io, "The server closed the connection without a response")
        default:
            var error = error(.io, "The connection was lost: \(text)")
            error.systemErrorNumber = self.systemErrorNumber
            return error
        }
    }

    private static func text(of code: CURLcode) -> String { String(cString: blob_curl_easy_strerror(code)) }
}
