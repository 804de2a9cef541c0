import BlobCore
import BlobPlatform

/// A folder for files that are not complete yet, inside the one that they are going to be in.
///
/// Locked as long as the process lives: what a killed process left is recognised by a lock that nobody holds.
final class StagingFolder {
    private static let prefix = Array(".blob-extract-".utf8)

    /// The number of digits behind the prefix.
    private static let digitCount = 16

    /// The number of folders that are made, when other processes take each for one that is left.
    private static let maximumTryCount = 16

    /// The name of the only file in the folder.
    static let fileName = Array("file".utf8)

    let descriptor: Descriptor
    private let name: [UInt8]
    private let parent: Descriptor

    /// Creates the folder, for this user alone.
    init(in parent: Descriptor) throws(BlobError) {
        self.parent = parent
        for _ in 0..<Self.maximumTryCount {
            let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
            let name = Self.prefix + String(repeating: "0", count: Self.digitCount - digits.count).utf8 + digits.utf8
            guard name.withPath({ mkdirat(parent.number, $0, 0o700) }) == 0 else {
                throw writeFailure("Could not make a folder for incomplete files")
            }
            // Another process may have taken the folder for one that is left, and be removing it.
            var isTaken = false
            defer { if !isTaken { _ = name.withPath { unlinkat(parent.number, $0, AT_REMOVEDIR) } } }
            let descriptor = Self.open(name, in: parent)
            guard descriptor >= 0 || errno != ENOENT else { continue }
            let folder = try Descriptor(descriptor, doing: "Could not open a folder for incomplete files")
            guard flock(folder.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
                FileIdentity(folder) == FileIdentity(name, in: parent, type: S_IFDIR)
            else { continue }
            (self.descriptor, self.name, isTaken) = (folder, name, true)
            return
        }
        throw BlobError(
            .unavailable, "The folder for incomplete files is removed again and again.", operation: "write")
    }

    deinit {
        Self.clear(self.descriptor)
        _ = self.name.withPath { unlinkat(self.parent.number, $0, AT_REMOVEDIR) }
    }

    /// True for a name that such a folder may have, in any case of its letters, and for a path beneath it.
    static func isName(_ name: [UInt8]) -> Bool {
        // Only a dot is one in lower case.
        guard name.first == self.prefix.first else { return false }
        return String(decoding: name, as: UTF8.self).lowercased().utf8.starts(with: self.prefix)
    }

    /// Removes the folders that processes of this user left when they were killed.
    static func removeLeftovers(in parent: Descriptor) {
        for name in self.names(in: parent) where self.isName(name) {
            guard let folder = try? Descriptor(self.open(name, in: parent), doing: ""),
                flock(folder.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            var status = stat()
            guard fstat(folder.number, &status) == 0, status.st_uid == geteuid() else { continue }
            self.clear(folder)
            _ = name.withPath { unlinkat(parent.number, $0, AT_REMOVEDIR) }
        }
    }

    private static func clear(_ folder: Descriptor) {
        _ = self.fileName.withPath { unlinkat(folder.number, $0, 0) }
    }

    private static func open(_ name: [UInt8], in parent: Descriptor) -> CInt {
        name.withPath { openat(parent.number, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    }

    /// The names of the staging folders that a folder may have.
    private static func names(in parent: Descriptor) -> [[UInt8]] {
        let copy = openat(parent.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            _ = close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                bytes.starts(with: self.prefix) ? Array(bytes.prefix { $0 != 0 }) : []
            }
            if name.count == self.prefix.count + self.digitCount { names.append(name) }
        }
        return names
    }
}
