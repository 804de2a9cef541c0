import BlobCore
import BlobTransfer

/// A store with the keys for it, shared by the sources of its objects.
final class S3Store: Sendable {
    let endpoint: S3Endpoint
    let keys: KeyChain
    let region: String
    let settings: BlobTransferSettings
    /// The seconds by which the clock of the store is ahead of that of this machine.
    let clockSkew = Locked<Int64>(0)

    init(_ endpoint: S3Endpoint, _ keys: KeyChain, region: String, _ settings: BlobTransferSettings) {
        (self.endpoint, self.keys, self.region, self.settings) = (endpoint, keys, region, settings)
    }
}
