import BlobCore
import CCurl

/// A libcurl request on its own connection, with the loop that drives it.
///
/// Use it on the thread that drives it; only ``wake()`` may be called on other threads.
final class CurlHandle: @unchecked Sendable {  // Safe: see above; the lock of `wakeable` orders `wake` and `close`.
    private let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    private let wakeable: Locked<HandedOver<UnsafeMutableRawPointer>?>
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var setupCode = CURLE_OK
    private var isAdded = false

    /// - Throws: ``BlobError/Code/unavailable`` without libcurl or memory.
    init() throws(BlobError) {
        try CurlLibrary.load()
        guard let easy = blob_curl_easy_init() else { throw Self.couldNotStart }
        guard let multi = blob_curl_multi_init() else {
            blob_curl_easy_cleanup(easy)
            throw Self.couldNotStart
        }
        (self.easy, self.multi, self.wakeable) = (easy, multi, Locked(HandedOver(multi)))
        self.errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        self.errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.set(CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(self.errorBuffer))
    }

    deinit {
        self.close()
        self.errorBuffer.deallocate()
    }

    private static var couldNotStart: BlobError { BlobError(.unavailable, "libcurl could not start.") }

    // MARK: Setting up

    func set(_ option: CURLoption, _ value: Int) { self.note(blob_curl_set_long(self.easy, option, value)) }

    func set(_ option: CURLoption, bytes: Int64) { self.note(blob_curl_set_offset(self.easy, option, bytes)) }

    func set(_ option: CURLoption, _ text: String) { self.note(blob_curl_set_text(self.easy, option, text)) }

    func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer) {
        self.note(blob_curl_set_pointer(self.easy, option, pointer))
    }

    func setReader(_ reader: @escaping curl_read_callback) { self.note(blob_curl_set_reader(self.easy, reader)) }

    func setSeeker(_ seeker: @escaping curl_seek_callback) { self.note(blob_curl_set_seeker(self.easy, seeker)) }

    func setWriter(_ option: CURLoption, _ writer: @escaping curl_write_callback) {
        self.note(blob_curl_set_writer(self.easy, option, writer))
    }

    func setProgress(_ progress: @escaping curl_xferinfo_callback) {
        self.note(blob_curl_set_progress(self.easy, progress))
    }

    func setCloser(_ closer: @escaping curl_closesocket_callback) {
        self.note(blob_curl_set_closer(self.easy, closer))
    }

    /// - Parameter observer: Called with each socket before it is connected.
    func setSocketObserver(_ observer: @escaping curl_sockopt_callback) {
        self.note(blob_curl_set_socket_observer(self.easy, observer))
    }

    func setHeaders(_ lines: [String]) {
        for line in lines {
            guard let longer = blob_curl_list_append(self.headers, line) else { return self.note(CURLE_OUT_OF_MEMORY) }
            self.headers = longer
        }
        self.note(blob_curl_set_list(self.easy, CURLOPT_HTTPHEADER, self.headers))
    }

    private func note(_ code: CURLcode) {
        // Options that an older library does not know are refinements; all others are required.
        if self.setupCode == CURLE_OK, code != CURLE_UNKNOWN_OPTION { self.setupCode = code }
    }

    // MARK: Running

    /// - Throws: ``BlobError/Code/invalidArgument`` when libcurl refused an option.
    func start() throws(BlobError) {
        self.note(blob_curl_set_http_only(self.easy))
        guard self.setupCode == CURLE_OK else {
            throw BlobError(.invalidArgument, "libcurl refused the request: \(Self.text(of: self.setupCode)).")
        }
        try self.check(blob_curl_multi_add(self.multi, self.easy))
        self.isAdded = true
    }

    /// Does all work that is possible without waiting.
    ///
    /// - Returns: The result of the request; nil while it is under way.
    func perform() throws(BlobError) -> CURLcode? {
        var runningCount: CInt = 0
        try self.check(blob_curl_multi_perform(self.multi, &runningCount))
        var code = CURLE_OK
        return blob_curl_multi_take_result(self.multi, &code) != 0 ? code : nil
    }

    /// Waits until there is work to do or ``wake()`` is called, at most for the given number of milliseconds.
    func wait(milliseconds: Int) throws(BlobError) {
        try self.check(blob_curl_multi_poll(self.multi, CInt(clamping: milliseconds)))
    }

    /// Resumes the request after a callback has paused it.
    func resume() { blob_curl_easy_pause(self.easy, CURLPAUSE_CONT) }

    /// Ends ``wait(milliseconds:)``. May be called on any thread, at any time.
    func wake() {
        self.wakeable.withLock { multi in
            if let multi { blob_curl_multi_wakeup(multi.value) }
        }
    }

    /// Ends the request, its connection and the callbacks. A second call has no effect.
    func close() {
        let isOpen = self.wakeable.withLock { multi in
            defer { multi = nil }
            return multi != nil
        }
        guard isOpen else { return }
        if self.isAdded { blob_curl_multi_remove(self.multi, self.easy) }
        blob_curl_easy_cleanup(self.easy)
        blob_curl_multi_cleanup(self.multi)
        blob_curl_list_free(self.headers)
        self.headers = nil
    }

    private func check(_ code: CURLMcode) throws(BlobError) {
        guard code != CURLM_OK else { return }
        throw BlobError(.internalError, "libcurl: \(String(cString: blob_curl_multi_strerror(code))).")
    }

    // MARK: Results

    /// The `errno` of the connection that failed; nil when there is none.
    var systemErrorNumber: CInt? {
        var number = 0
        guard blob_curl_get_long(self.easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 else { return nil }
        return CInt(clamping: number)
    }

    /// The number of bytes of the body that were sent, including the framing of chunks; 0 once the handle is closed.
    var uploadedByteCount: Int64 {
        var count: Int64 = 0
        let isOpen = self.wakeable.withLock { $0 != nil }
        guard isOpen, blob_curl_get_offset(self.easy, CURLINFO_SIZE_UPLOAD_T, &count) == CURLE_OK else { return 0 }
        return count
    }

    /// Returns libcurl's description of an error.
    func explanation(of code: CURLcode) -> String {
        let text = String(cString: self.errorBuffer)
        return text.isEmpty ? Self.text(of: code) : text
    }

    private static func text(of code: CURLcode) -> String { String(cString: blob_curl_easy_strerror(code)) }
}
