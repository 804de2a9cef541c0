package import BlobCore
import BlobPlatform

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
