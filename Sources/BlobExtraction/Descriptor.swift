import BlobCore
import BlobPlatform

/// A descriptor, which is closed when its last owner releases it.
final class Descriptor {
    private(set) var number: CInt

    /// - Parameter number: The result of a call that opens, with the reason of a failure in `errno`.
    init(_ number: CInt, doing act: @autoclosure () -> String) throws(BlobError) {
        guard number >= 0 else { throw writeFailure(act()) }
        self.number = number
    }

    deinit { if self.number >= 0 { _ = close(self.number) } }

    /// Closes it, and throws the error that this tells: some file systems write only then (close(2), NFS and quotas).
    func finish(doing act: @autoclosure () -> String) throws(BlobError) {
        defer { self.number = -1 }
        guard close(self.number) == 0 || errno == EINTR else { throw writeFailure(act()) }
    }
}

/// The identity of a file in the system.
struct FileIdentity: Hashable {
    private let device: UInt64
    private let number: UInt64

    /// Creates the identity of a file in a folder, not following a link; nil when there is none.
    ///
    /// - Parameter type: The type that the file must have; nil for any but a folder.
    init?(_ name: [UInt8], in folder: Descriptor, type: mode_t? = nil) {
        var status = stat()
        guard name.withPath({ fstatat(folder.number, $0, &status, AT_SYMLINK_NOFOLLOW) }) == 0 else { return nil }
        let found = status.st_mode & S_IFMT
        guard type.map({ $0 == found }) ?? (found != S_IFDIR) else { return nil }
        self.init(status)
    }

    /// Creates the identity of an open file; nil when the system does not report it.
    init?(_ file: Descriptor) {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { return nil }
        self.init(status)
    }

    init(_ status: stat) {
        self.device = UInt64(truncatingIfNeeded: status.st_dev)
        self.number = UInt64(status.st_ino)
    }
}

extension [UInt8] {
    /// Calls `body` with these bytes as a path.
    func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: self.count + 1, alignment: 1) { buffer in
            buffer.copyBytes(from: self)
            buffer[self.count] = 0
            // Not empty: it ends with a zero.
            return buffer.bindMemory(to: CChar.self).baseAddress.map { body($0) } ?? body("")
        }
    }
}

/// Returns the error of the last failed call, from `errno`.
func writeFailure(_ act: String) -> BlobError {
    var error = BlobError(systemError: errno, doing: act)
    error.operation = "write"
    return error
}
