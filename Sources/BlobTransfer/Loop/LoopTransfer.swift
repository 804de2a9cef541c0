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

    /// Ends a transfer whose time is up. Called every 250 ms, and when ``TransferLoop/check(within:)`` asks for it.
    func checkLimits(_ now: Moment, _ loop: TransferLoop)
}
