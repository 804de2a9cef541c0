package import BlobCore

extension BlobError {
    /// Creates the error for a response that refuses the request.
    ///
    /// The code is ``Code/notFound`` for 404 and 410, ``Code/permissionDenied`` for 401, 403 and 407,
    /// ``Code/unavailable`` for 5xx, 408, 425 and 429, and ``Code/refused`` otherwise.
    package init(refusing head: ResponseHead, _ explanation: [UInt8]) {
        let code: Code =
            switch head.status {
            case 404, 410: .notFound
            case 401, 403, 407: .permissionDenied
            case 408, 425, 429, 500..<600: .unavailable
            default: .refused
            }
        self.init(
            code, head.refusalMessage(explanation),
            isTransient: BlobRetry.isTransient(head.status, isRepeatable: true, isReading: true))
        self.retryDelay = head.retryDelay
    }
}
