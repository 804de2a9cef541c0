import Foundation

/// Makes room in a pipe, so that writer and reader take turns less often. Where that fails or does not exist, the pipe
/// stays as it is, and only speed is lost.
func growPipe(_ descriptor: CInt, to byteCount: CInt) {
    #if os(Linux)
        let setPipeSize: CInt = 1031  // F_SETPIPE_SZ of <linux/fcntl.h>, which Swift does not import.
        _ = fcntl(descriptor, setPipeSize, byteCount)
    #endif
}
