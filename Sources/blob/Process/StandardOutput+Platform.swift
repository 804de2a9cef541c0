import BlobPlatform

/// Enlarges the buffer of a pipe, so that writer and reader switch less often. Where that fails or is not supported,
/// and for a descriptor that is no pipe, everything stays as it is.
func growPipe(_ descriptor: CInt, to byteCount: CInt) {
    #if os(Linux)
        let setPipeSize: CInt = 1031  // F_SETPIPE_SZ of <linux/fcntl.h>, which Swift does not import.
        _ = fcntl(descriptor, setPipeSize, byteCount)
    #endif
}
