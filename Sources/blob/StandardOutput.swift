import BlobStreamsStandard
import Foundation

/// Where the bytes of `cat` go.
protocol ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError)
}

/// Standard output, with room in its pipe if it is one.
struct StandardOutput: ByteOutput {
    /// The largest pipe that a user may have on Linux unless the administrator says otherwise (`pipe(7)`).
    private static let pipeByteCount: CInt = 1 << 20

    init() {
        var status = stat()
        guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
        growPipe(STDOUT_FILENO, to: Self.pipeByteCount)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
    }
}

extension AtomicFile: ByteOutput {}
