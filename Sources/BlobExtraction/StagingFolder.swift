package import BlobCore
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

/// A file that has no name yet, and is written.
package final class NewFile {
    let member: BlobMember
    let path: MemberPath
    /// The folder that it is going to be in.
    let folder: Descriptor
    private let staging: Descriptor
    private let file: Descriptor
    private var isFinished = false
    /// The identity of the file, from ``finish()`` on.
    private(set) var identity: FileIdentity?

    /// Creates the file with the permissions of the member, without set-id bits and what the file mode creation mask
    /// takes away.
    init(_ member: BlobMember, _ path: MemberPath, in folder: Descriptor, staging: Descriptor) throws(BlobError) {
        (self.member, self.path, self.folder, self.staging) = (member, path, folder, staging)
        let permissions = mode_t(member.permissions ?? 0o666) & 0o777
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        self.file = try Descriptor(
            StagingFolder.fileName.withPath { openat(staging.number, $0, flags, permissions) },
            doing: "Could not create a file for \(BlobMember.printable(path.bytes))")
    }

    deinit { self.discard() }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.number, named: BlobMember.printable(self.path.bytes))
    }

    /// Removes the file unless it was given its name. May be called twice.
    package func discard() {
        if !self.isFinished { _ = StagingFolder.fileName.withPath { unlinkat(self.staging.number, $0, 0) } }
        self.isFinished = true
    }

    /// Sets the time of the file, which is complete, and closes it.
    func finish() throws(BlobError) {
        if let times = self.member.times { _ = futimens(self.file.number, times) }
        self.identity = FileIdentity(self.file)
        try self.file.finish(doing: "Could not write \(BlobMember.printable(self.path.bytes))")
        self.isFinished = true
    }
}

extension BlobMember {
    /// The times of the last access and modification, both that of the modification; nil when the member has none.
    var times: [timespec]? {
        guard let time = self.modificationTime?.timeIntervalSince1970 else { return nil }
        let seconds = time.rounded(.down)
        let nanoseconds = min(max(0, ((time - seconds) * 1e9).rounded()), 999_999_999)
        guard abs(seconds) < 1e15 else { return nil }
        let value = timespec(tv_sec: time_t(seconds), tv_nsec: Int(nanoseconds))
        return [value, value]
    }
}
