import BlobCore
import BlobPlatform
internal import CPlatform

/// The folders beneath a folder, which are opened and made without following any symbolic link.
struct FolderTree {
    let root: Descriptor
    /// True when the system resolves a whole path, and refuses links itself; otherwise it is resolved name by name.
    private let resolvesInKernel: Bool
    /// The folder that was opened last: members of one folder mostly follow each other.
    private var last: (path: MemberPath, folder: Descriptor)?

    init(_ root: Descriptor, resolvesInKernel: Bool) {
        self.root = root
        self.resolvesInKernel = resolvesInKernel && Self.open(".", beneath: root) != nil
    }

    private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    /// Opens a folder that may have to be made, as may those above it.
    ///
    /// - Parameter report: Receives each folder that was made.
    /// - Throws: ``BlobError/Code/unsupported`` when a part of the path is a file or a symbolic link.
    mutating func open(_ path: MemberPath, making report: (MemberPath) -> Void) throws(BlobError) -> Descriptor {
        if path.bytes.isEmpty { return self.root }
        if let last, last.path == path { return last.folder }
        let folder = if let found = self.find(path) { found } else { try self.make(path, report) }
        self.last = (path, folder)
        return folder
    }

    /// Opens a folder; nil when it, or one above it, does not exist or is no folder, and when only making it can tell.
    func find(_ path: MemberPath) -> Descriptor? {
        if path.bytes.isEmpty { return self.root }
        if self.resolvesInKernel {
            return path.bytes.withPath { Self.open($0, beneath: self.root) }
        }
        var folder = self.root
        for name in path.names {
            let next = name.withPath { openat(folder.number, $0, Self.flags) }
            guard let opened = try? Descriptor(next, doing: "") else { return nil }
            folder = opened
        }
        return folder
    }

    private func make(_ path: MemberPath, _ report: (MemberPath) -> Void) throws(BlobError) -> Descriptor {
        var folder = self.root
        var reached: [UInt8] = []
        for name in path.names {
            if !reached.isEmpty { reached.append(UInt8(ascii: "/")) }
            reached += name
            if name.withPath({ mkdirat(folder.number, $0, 0o777) }) == 0 {
                report(try MemberPath(reached))
            } else if errno != EEXIST {
                throw writeFailure("Could not make the folder \(BlobMember.printable(reached))")
            }
            let next = name.withPath { openat(folder.number, $0, Self.flags) }
            guard next >= 0 || errno != ENOTDIR && errno != ELOOP else {
                throw BlobError(
                    .unsupported, "\(BlobMember.printable(reached)) is a file or a link, and no folder.",
                    operation: "write")
            }
            folder = try Descriptor(next, doing: "Could not open the folder \(BlobMember.printable(reached))")
        }
        return folder
    }

    private static func open(_ path: UnsafePointer<CChar>, beneath root: Descriptor) -> Descriptor? {
        // A path of this kind never has to be tried again, as one with `..` has.
        try? Descriptor(blob_open_beneath(root.number, path, self.flags), doing: "")
    }
}

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
