package import BlobCore
import CCurl

/// The libcurl library, loaded when first needed: linking it would make a program start ten times as slowly.
package enum CurlLibrary {
    /// Version 7.80 of 2021, the first with `CURLOPT_PREREQFUNCTION`.
    private static let oldestVersion: UInt32 = 0x07_5000

    private static let loading: Result<Void, BlobError> = {
        if let reason = blob_curl_load() {
            return .failure(
                BlobError(
                    .unavailable, "Transfers need libcurl, which could not be loaded: \(String(cString: reason)).",
                    isTransient: false))
        }
        guard blob_curl_version_number() >= Self.oldestVersion else {
            let version = String(cString: blob_curl_version_text())
            return .failure(
                BlobError(.unavailable, "Transfers need libcurl 7.80; this is \(version).", isTransient: false))
        }
        return .success(())
    }()

    /// Loads the library on the first call.
    ///
    /// - Throws: ``BlobError/Code/unavailable``.
    package static func load() throws(BlobError) { try Self.loading.get() }

    /// Loads the library on another thread, while this one goes on.
    ///
    /// Call ``load()`` before the process exits: the handlers that the TLS library has registered for that must not run
    /// while it starts.
    package static func preload() { BlockingPool.openings.run { try? CurlLibrary.load() } }

    static var couldNotStart: BlobError { BlobError(.unavailable, "libcurl could not start.") }
}
