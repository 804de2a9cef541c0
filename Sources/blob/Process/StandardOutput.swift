import BlobPlatform
import BlobStreamsStandard

/// A destination for bytes.
protocol ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError)
}

/// Standard output, with an enlarged buffer if it is a pipe.
struct StandardOutput: ByteOutput {
    /// The default maximum size of a user's pipe on Linux, in bytes (`pipe(7)`).
    private static let pipeByteCount: CInt = 1 << 20

    init() { growPipe(STDOUT_FILENO, to: Self.pipeByteCount) }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
    }
}

extension AtomicFile: ByteOutput {}
