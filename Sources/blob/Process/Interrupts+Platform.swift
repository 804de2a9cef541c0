import BlobPlatform

extension sigaction {
    /// True when the signal is ignored. The field has two names, and Swift can compare handlers only by address.
    var isIgnoring: Bool {
        #if canImport(Darwin)
            let handler = self.__sigaction_u.__sa_handler
        #else
            let handler = self.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
