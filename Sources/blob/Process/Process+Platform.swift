#if Command
import BlobPlatform

extension sigaction {
    /// True if the signal is ignored. The field has two names, and Swift can compare handlers only by address.
    var isIgnoring: Bool {
        #if canImport(Darwin)
        let handler = self.__sigaction_u.__sa_handler
        #else
        let handler = self.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Enlarges the buffer of a pipe, so that the writer and the reader switch less often.
///
/// Has no effect if this fails or is not supported, or if the descriptor is not a pipe.
func growPipe(_ descriptor: CInt, to byteCount: CInt) {
    #if os(Linux)
    let setPipeSize: CInt = 1031  // F_SETPIPE_SZ of <linux/fcntl.h>, which Swift does not import.
    _ = fcntl(descriptor, setPipeSize, byteCount)
    #endif
}
#endif
