package import BlobCore
import CCurl

/// The libcurl library, loaded when first needed: linking it would make a program start ten times as slowly.
package enum CurlLibrary {
    /// Version 7.68, the first with `curl_multi_wakeup`.
    private static let oldestVersion: UInt32 = 0x07_4400

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
                BlobError(.unavailable, "Transfers need libcurl 7.68; this is \(version).", isTransient: false))
        }
        return .success(())
    }()

    /// Loads the library on the first call.
    ///
    /// - Throws: ``BlobError/Code/unavailable``.
    package static func load() throws(BlobError) { try Self.loading.get() }

    static var couldNotStart: BlobError { BlobError(.unavailable, "libcurl could not start.") }
}
