import BlobCore
import BlobPlatform
internal import CPlatform

/// The folders beneath a folder, opened and created without following any symbolic link.
struct FolderTree {
    let root: Descriptor
    /// True if the system resolves a whole path and rejects links itself; otherwise paths are resolved name by name.
    private let resolvesInKernel: Bool
    /// The last folder opened: members of one folder are usually consecutive.
    private var lastFolder: (path: MemberPath, folder: Descriptor)?

    init(_ root: Descriptor, resolvesInKernel: Bool) {
        self.root = root
        self.resolvesInKernel = resolvesInKernel && Self.open([UInt8(ascii: ".")], beneath: root) != nil
    }

    private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    /// Opens a folder, creating it and its parent folders if necessary.
    ///
    /// - Parameter report: A closure that receives each folder that was created.
    /// - Throws: ``BlobError/Code/unsupported`` if a part of the path is a file or a symbolic link.
    mutating func open(_ path: MemberPath, making report: (MemberPath) -> Void) throws(BlobError) -> Descriptor {
        if path.bytes.isEmpty { return self.root }
        if let last = self.lastFolder, last.path == path { return last.folder }
        let folder = if let found = self.find(path) { found } else { try self.makeFolder(path, report) }
        self.lastFolder = (path, folder)
        return folder
    }

    /// Opens a folder; nil if the folder or a parent is missing or is not a folder, or if only ``open(_:making:)`` can
    /// determine this.
    func find(_ path: MemberPath) -> Descriptor? {
        if path.bytes.isEmpty { return self.root }
        if self.resolvesInKernel {
            return Self.open(path.bytes, beneath: self.root)
        }
        var folder = self.root
        for name in path.names {
            guard let next = try? Descriptor(name.cString, Self.flags, in: folder.rawValue, doing: "") else {
                return nil
            }
            folder = next
        }
        return folder
    }

    private func makeFolder(_ path: MemberPath, _ report: (MemberPath) -> Void) throws(BlobError) -> Descriptor {
        var folder = self.root
        var reached: [UInt8] = []
        for name in path.names {
            if !reached.isEmpty { reached.append(UInt8(ascii: "/")) }
            reached += name
            if mkdirat(folder.rawValue, name.cString, 0o777) == 0 {
                report(try MemberPath(reached))
            } else if errno != EEXIST {
                throw writeFailure("Could not create the folder \(BlobMember.printable(reached))")
            }
            do throws(BlobError) {
                folder = try Descriptor(
                    name.cString, Self.flags, in: folder.rawValue,
                    doing: "Could not open the folder \(BlobMember.printable(reached))", operation: "write")
            } catch {
                guard error.systemErrorNumber == ENOTDIR || error.systemErrorNumber == ELOOP else { throw error }
                throw BlobError(
                    .unsupported, "\(BlobMember.printable(reached)) is a file or a link, not a folder.",
                    operation: "write")
            }
        }
        return folder
    }

    private static func open(_ path: [UInt8], beneath root: Descriptor) -> Descriptor? {
        // A path of this kind never needs a second attempt, unlike a path with `..`.
        try? Descriptor(blob_open_beneath(root.rawValue, path.cString, self.flags), doing: "")
    }
}
