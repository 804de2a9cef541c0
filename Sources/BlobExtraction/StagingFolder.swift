package import BlobCore
import BlobPlatform

/// A folder for incomplete files, inside the folder that will contain them.
///
/// Locked while the process runs: a folder left by a killed process is recognised because it is not locked.
final class StagingFolder {
    private static let prefix = Array(".blob-extract-".utf8)

    /// The number of digits after the prefix.
    private static let digitCount = 16

    /// The maximum number of attempts to create the folder, in case other processes remove each as a leftover.
    private static let maximumTryCount = 16

    /// The name of the only file in the folder.
    static let fileName = "file"

    let descriptor: Descriptor
    private let name: [UInt8]
    private let parent: Descriptor

    /// Creates the folder, for this user alone.
    init(in parent: Descriptor) throws(BlobError) {
        self.parent = parent
        for _ in 0..<Self.maximumTryCount {
            let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
            let name = Self.prefix + String(repeating: "0", count: Self.digitCount - digits.count).utf8 + digits.utf8
            guard mkdirat(parent.rawValue, name.cString, 0o700) == 0 else {
                throw writeFailure("Could not create a folder for incomplete files")
            }
            // Another process may have taken the folder for a leftover and be removing it.
            var isTaken = false
            defer { if !isTaken { unlinkat(parent.rawValue, name.cString, AT_REMOVEDIR) } }
            let folder: Descriptor
            do throws(BlobError) {
                folder = try Self.open(name, in: parent)
            } catch {
                if error.systemErrorNumber == ENOENT { continue }
                throw error
            }
            guard folder.lock() || errno != EWOULDBLOCK,
                FileStatus(folder.rawValue)?.identity == parent.status(of: name.cString)?.identity
            else { continue }
            (self.descriptor, self.name, isTaken) = (folder, name, true)
            return
        }
        throw BlobError(
            .unavailable, "Another process keeps removing the folder for incomplete files.", operation: "write")
    }

    deinit {
        Self.clear(self.descriptor)
        unlinkat(self.parent.rawValue, self.name.cString, AT_REMOVEDIR)
    }

    /// Returns true for a possible name of a staging folder, in upper or lower case, and for a path beneath it.
    static func isName(_ name: [UInt8]) -> Bool {
        // Lowercasing neither changes a dot nor produces one.
        guard name.first == self.prefix.first else { return false }
        return String(decoding: name, as: UTF8.self).lowercased().utf8.starts(with: self.prefix)
    }

    /// Removes the folders left by killed processes of this user.
    static func removeLeftovers(in parent: Descriptor) {
        for name in self.names(in: parent) where self.isName(name) {
            guard let folder = try? self.open(name, in: parent), folder.lock(),
                FileStatus(folder.rawValue)?.isOwnedByUser == true
            else { continue }
            self.clear(folder)
            unlinkat(parent.rawValue, name.cString, AT_REMOVEDIR)
        }
    }

    private static func clear(_ folder: Descriptor) {
        unlinkat(folder.rawValue, self.fileName, 0)
    }

    private static func open(_ name: [UInt8], in parent: Descriptor) throws(BlobError) -> Descriptor {
        try Descriptor(
            name.cString, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: parent.rawValue,
            doing: "Could not open a folder for incomplete files", operation: "write")
    }

    /// The names of possible staging folders in a folder.
    private static func names(in parent: Descriptor) -> [[UInt8]] {
        let names = (try? folderEntries(".", in: parent.rawValue, doing: ""))?.map(\.name) ?? []
        return names.filter { $0.starts(with: self.prefix) && $0.count == self.prefix.count + self.digitCount }
    }
}

/// A file that is being written and has no final name yet.
package final class NewFile {
    let member: BlobMember
    let path: MemberPath
    /// The folder that will contain the file.
    let folder: Descriptor
    private let staging: Descriptor
    private let file: Descriptor
    private var isFinished = false
    /// The identity of the file, from ``finish()`` on.
    private(set) var identity: FileIdentity?

    /// Creates the file with the permissions of the member, without set-ID bits and without the bits in the file mode
    /// creation mask.
    init(_ member: BlobMember, _ path: MemberPath, in folder: Descriptor, staging: Descriptor) throws(BlobError) {
        (self.member, self.path, self.folder, self.staging) = (member, path, folder, staging)
        let permissions = mode_t(member.permissions ?? 0o666) & 0o777
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        self.file = try Descriptor(
            StagingFolder.fileName, flags, permissions: permissions, in: staging.rawValue,
            doing: "Could not create a file for \(BlobMember.printable(path.bytes))", operation: "write")
    }

    deinit { self.discard() }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.rawValue, named: BlobMember.printable(self.path.bytes))
    }

    /// Removes the file unless it was committed. May be called twice.
    package func discard() {
        if !self.isFinished { unlinkat(self.staging.rawValue, StagingFolder.fileName, 0) }
        self.isFinished = true
    }

    /// Sets the time of the complete file, and closes it.
    func finish() throws(BlobError) {
        if let times = self.member.times { _ = futimens(self.file.rawValue, times) }
        self.identity = FileStatus(self.file.rawValue)?.identity
        guard self.file.close() else { throw writeFailure("Could not write \(BlobMember.printable(self.path.bytes))") }
        self.isFinished = true
    }
}

extension BlobMember {
    /// The times of the last access and modification, both set to the modification time; nil if the member has no
    /// time.
    var times: [timespec]? {
        guard let time = self.modificationTime?.timeIntervalSince1970 else { return nil }
        let seconds = time.rounded(.down)
        let nanoseconds = min(max(0, ((time - seconds) * 1e9).rounded()), 999_999_999)
        guard abs(seconds) < 1e15 else { return nil }
        let value = timespec(tv_sec: time_t(seconds), tv_nsec: Int(nanoseconds))
        return [value, value]
    }
}
