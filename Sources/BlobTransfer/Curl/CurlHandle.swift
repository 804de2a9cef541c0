package import BlobCore
import BlobPlatform
package import CCurl

/// A request of libcurl, for a ``CurlMulti``. Use it on one thread at a time.
package final class CurlHandle {
    private var easy: UnsafeMutableRawPointer?
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var setupCode = CURLE_OK
    /// The transfer of the callbacks, kept until the request is freed.
    var owner: (any LoopTransfer)?

    /// - Throws: ``BlobError/Code/unavailable`` without libcurl or memory.
    package init() throws(BlobError) {
        try CurlLibrary.load()
        guard let easy = blob_curl_easy_init() else { throw CurlLibrary.couldNotStart }
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
    package var identity: UnsafeMutableRawPointer? { self.easy }

    // MARK: Setting up

    package func set(_ option: CURLoption, _ value: Int) { self.note(blob_curl_set_long(self.easy, option, value)) }

    package func set(_ option: CURLoption, bytes: Int64) { self.note(blob_curl_set_offset(self.easy, option, bytes)) }

    package func set(_ option: CURLoption, _ text: String) {
        // Not converted implicitly, which would copy the text.
        self.note(text.withCString { blob_curl_set_text(self.easy, option, $0) })
    }

    package func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer) {
        self.note(blob_curl_set_pointer(self.easy, option, pointer))
    }

    /// Sets a body that is sent with the head, by POST unless another method is set.
    ///
    /// - Parameter body: The bytes, which are used until this is closed.
    package func setBody(_ body: UnsafeRawBufferPointer) {
        self.set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: Int64(body.count))
        let pointer = UnsafeMutableRawPointer(mutating: body.baseAddress)
        self.note(blob_curl_set_pointer(self.easy, CURLOPT_POSTFIELDS, pointer))
    }

    package func setReader(_ reader: @escaping curl_read_callback) {
        self.note(blob_curl_set_reader(self.easy, reader))
    }

    package func setSeeker(_ seeker: @escaping curl_seek_callback) {
        self.note(blob_curl_set_seeker(self.easy, seeker))
    }

    package func setWriter(_ option: CURLoption, _ writer: @escaping curl_write_callback) {
        self.note(blob_curl_set_writer(self.easy, option, writer))
    }

    package func setProgress(_ progress: @escaping curl_xferinfo_callback) {
        self.note(blob_curl_set_progress(self.easy, progress))
    }

    package func setCloser(_ closer: @escaping curl_closesocket_callback) {
        self.note(blob_curl_set_closer(self.easy, closer))
    }

    /// - Parameter observer: Called with each socket before it is connected.
    package func setSocketObserver(_ observer: @escaping curl_sockopt_callback) {
        self.note(blob_curl_set_socket_observer(self.easy, observer))
    }

    /// - Parameter prerequisite: Called once there is a connection, before the request is sent.
    package func setPrerequisite(_ prerequisite: @escaping curl_prereq_callback) {
        self.note(blob_curl_set_prerequisite(self.easy, prerequisite))
    }

    /// Sets what all requests have in common.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - connectLimit: The longest time for connecting, TLS included.
    package func setUp(_ url: String, connectLimit: Duration) {
        self.set(CURLOPT_URL, url)
        // As it was given, and perhaps signed: a key of a store may have the segment `..`.
        self.set(CURLOPT_PATH_AS_IS, 1)
        // Keeps the signals of the process unchanged, and cancels without waiting for a name server.
        self.set(CURLOPT_NOSIGNAL, 1)
        self.set(CURLOPT_QUICK_EXIT, 1)
        // HTTP/2 stalls and spins on large uploads before libcurl 8.2.
        self.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        self.set(CURLOPT_HTTP09_ALLOWED, 0)
        self.set(CURLOPT_FOLLOWLOCATION, 0)
        self.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        self.set(CURLOPT_CONNECTTIMEOUT_MS, Int(connectLimit.timeInterval * 1000))
    }

    package func setHeaders(_ lines: [String]) {
        for line in lines {
            guard let longer = line.withCString({ blob_curl_list_append(self.headers, $0) }) else {
                return self.note(CURLE_OUT_OF_MEMORY)
            }
            self.headers = longer
        }
        self.note(blob_curl_set_list(self.easy, CURLOPT_HTTPHEADER, self.headers))
    }

    private func note(_ code: CURLcode) {
        // Options that an older library does not know are refinements; all others are required.
        if self.setupCode == CURLE_OK, code != CURLE_UNKNOWN_OPTION { self.setupCode = code }
    }

    /// Checks that libcurl accepted every option, and restricts the request to HTTP.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` when libcurl refused an option, ``BlobError/Code/unavailable`` when
    ///   it had no memory for one.
    func finishSetup() throws(BlobError) {
        self.note(blob_curl_set_http_only(self.easy))
        guard self.setupCode != CURLE_OUT_OF_MEMORY else { throw CurlLibrary.couldNotStart }
        guard self.setupCode == CURLE_OK else {
            throw BlobError(.invalidArgument, "libcurl refused the request: \(Self.text(of: self.setupCode)).")
        }
    }

    /// Resumes the request after a callback has paused it. Callbacks may run before this returns.
    package func resume() { if let easy { blob_curl_easy_pause(easy, CURLPAUSE_CONT) } }

    /// Frees the request, which is in no multi handle any more. A second call has no effect.
    package func close() {
        guard let easy else { return }
        self.easy = nil
        blob_curl_easy_cleanup(easy)
        blob_curl_list_free(self.headers)
        self.headers = nil
        self.owner = nil
    }

    // MARK: Results

    /// The `errno` of the connection that failed; nil when there is none.
    package var systemErrorNumber: CInt? {
        var number = 0
        guard let easy, blob_curl_get_long(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 else {
            return nil
        }
        return CInt(clamping: number)
    }

    /// The number of bytes of the body that were sent, including the framing of chunks; 0 once the handle is closed.
    package var uploadedByteCount: Int64 {
        var count: Int64 = 0
        guard let easy, blob_curl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T, &count) == CURLE_OK else { return 0 }
        return count
    }

    /// True when the request was made on a connection of an earlier one.
    package var hasReusedConnection: Bool {
        var count = 0
        guard let easy, blob_curl_get_long(easy, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK else { return false }
        return count == 0
    }

    /// True once the host has an address, or a connection is used again.
    package var hasAddress: Bool {
        var microseconds: Int64 = 0
        guard let easy else { return true }
        return blob_curl_get_offset(easy, CURLINFO_NAMELOOKUP_TIME_T, &microseconds) != CURLE_OK || microseconds > 0
    }

    /// Returns libcurl's description of an error, without secrets: it quotes a proxy that it does not understand.
    package func explanation(of code: CURLcode) -> String {
        let text = String(cString: self.errorBuffer)
        guard !text.isEmpty else { return Self.text(of: code) }
        guard let start = text.firstIndex(of: "'"), let end = text.lastIndex(of: "'"), start < end else { return text }
        return "\(text[...start])\(printableURL(String(text[start..<end].dropFirst())))\(text[end...])"
    }

    private static func text(of code: CURLcode) -> String { String(cString: blob_curl_easy_strerror(code)) }
}
