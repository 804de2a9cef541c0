import Foundation

extension sigaction {
    /// Whether the signal is ignored; the field has two names. Handlers have no equality in Swift, their addresses
    /// have.
    var isIgnoring: Bool {
        #if canImport(Darwin)
            let handler = self.__sigaction_u.__sa_handler
        #else
            let handler = self.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
