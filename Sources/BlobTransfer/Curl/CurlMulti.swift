package import BlobCore
import CCurl

/// The connections and the event loop for requests.
///
/// Use it on the thread that drives it; only ``wake()`` may be called on other threads.
final class CurlMulti: @unchecked Sendable {  // Safe: see above; a lock orders `wake` and `close`.
    /// The number of attempts to wake the waiting thread, because a system failure may be temporary.
    private static let wakingAttemptCount = 3

    private let multi: UnsafeMutableRawPointer
    private let wakeable: Locked<UnsafeTransfer<UnsafeMutableRawPointer>?>

    /// - Throws: ``BlobError/Code/unavailable`` if libcurl is missing or memory is exhausted.
    init() throws(BlobError) {
        try CurlLibrary.load()
        guard let multi = blob_curl_multi_init() else { throw CurlLibrary.startError }
        // Without its pair of sockets, libcurl still starts, but would sleep through new requests.
        guard Self.wake(multi) else {
            blob_curl_multi_cleanup(multi)
            throw CurlLibrary.startError
        }
        (self.multi, self.wakeable) = (multi, Locked(UnsafeTransfer(multi)))
    }

    deinit { self.close() }

    /// Starts a request. Its callbacks then run within ``perform()``.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if libcurl refused an option; ``BlobError/Code/unavailable`` if
    ///   memory is exhausted.
    func add(_ handle: CurlHandle) throws(BlobError) {
        try handle.finishSetup()
        try self.check(blob_curl_multi_add(self.multi, handle.identity))
    }

    /// Ends a request; closes its connection if the response is incomplete. A second call has no effect.
    func remove(_ handle: CurlHandle) {
        if let identity = handle.identity { blob_curl_multi_remove(self.multi, identity) }
    }

    /// Performs all work that is possible without waiting.
    func perform() throws(BlobError) {
        var runningCount: CInt = 0
        try self.check(blob_curl_multi_perform(self.multi, &runningCount))
    }

    /// Returns the identity and the result of a request that has ended; nil if no request has ended.
    func takeResult() -> (identity: UnsafeMutableRawPointer, code: CURLcode)? {
        var code = CURLE_OK
        return blob_curl_multi_take_result(self.multi, &code).map { ($0, code) }
    }

    /// Waits until there is work, another socket is ready, or ``wake()`` is called, for at most `milliseconds`.
    func wait(milliseconds: Int, for others: [curl_waitfd] = []) throws(BlobError) {
        var others = others
        try self.check(
            blob_curl_multi_poll(self.multi, &others, CUnsignedInt(others.count), CInt(clamping: milliseconds)))
    }

    /// Ends ``wait(milliseconds:for:)``. Can be called on any thread at any time.
    func wake() {
        self.wakeable.withLock { multi in
            if let multi { _ = Self.wake(multi.value) }
        }
    }

    private static func wake(_ multi: UnsafeMutableRawPointer) -> Bool {
        (0..<Self.wakingAttemptCount).contains { _ in blob_curl_multi_wakeup(multi) == CURLM_OK }
    }

    /// Frees the connections. All requests must already be removed. A second call has no effect.
    func close() { if self.wakeable.take() != nil { blob_curl_multi_cleanup(self.multi) } }

    private func check(_ code: CURLMcode) throws(BlobError) {
        guard code != CURLM_OK else { return }
        // Exhausted memory and a failed wait are system errors, not programming errors.
        let kind: (code: BlobError.Code, isTransient: Bool) =
            switch code {
            case CURLM_OUT_OF_MEMORY: (.unavailable, true)
            case CURLM_UNRECOVERABLE_POLL: (.io, false)
            default: (.internalError, false)
            }
        throw BlobError(
            kind.code, "libcurl: \(String(cString: blob_curl_multi_strerror(code))).", isTransient: kind.isTransient)
    }
}

/// The libcurl library, loaded on first use, because linking it would make programs launch ten times slower.
package enum CurlLibrary {
    /// Version 7.80 (2021), the first with `CURLOPT_PREREQFUNCTION`.
    private static let oldestVersion: UInt32 = 0x07_5000

    private static let loadResult: Result<Void, BlobError> = {
        if let reason = blob_curl_load() {
            return .failure(
                BlobError(
                    .unavailable, "Transfers need libcurl, which could not be loaded: \(String(cString: reason)).",
                    isTransient: false))
        }
        guard blob_curl_version_number() >= Self.oldestVersion else {
            let version = String(cString: blob_curl_version_text())
            return .failure(
                BlobError(
                    .unavailable, "Transfers need libcurl 7.80 or later, but the version is \(version).",
                    isTransient: false))
        }
        return .success(())
    }()

    /// Loads the library on the first call.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if the library is missing or too old.
    package static func load() throws(BlobError) { try Self.loadResult.get() }

    /// Loads the library on another thread without blocking the caller.
    ///
    /// Call ``load()`` before the process exits: the TLS library's exit handlers must not run while the library is
    /// starting.
    package static func preload() { BlockingPool.openings.run { try? CurlLibrary.load() } }

    static var startError: BlobError { BlobError(.unavailable, "libcurl could not start.") }
}
