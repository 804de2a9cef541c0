package import BlobCore
package import CCurl

/// A transfer that ``TransferLoop`` runs, on whose thread all methods are called.
package protocol LoopTransfer: AnyObject {
    /// Begins the request, whose turn it is; without effect when the transfer has ended.
    func connect(_ loop: TransferLoop)

    /// Ends the request with libcurl's result.
    func finish(_ code: CURLcode, _ loop: TransferLoop)

    /// Ends the transfer, for an error of all transfers.
    func fail(_ error: BlobError, _ loop: TransferLoop)

    /// Ends a transfer whose time is up, or asks ``TransferLoop/check(within:)`` for the next call. Called when the
    /// transfer is new, when any transfer asked for it, and every two seconds.
    func checkLimits(_ loop: TransferLoop)
}
