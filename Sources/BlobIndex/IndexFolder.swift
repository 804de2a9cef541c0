internal import BlobStreams
import Foundation

/// The folder of many index files, bounded in size.
struct IndexFolder: Hashable, Sendable {
    static let fileExtension = "blobindex"

    let path: String
    let maximumByteCount: Int64

    /// The name of the index of everything over one origin: a 128-bit FNV-1a hash. Two origins with the same hash are told
    /// apart by what the file says.
    static func fileName(origin: String) -> String {
        var hash = FNV1a()
        hash.update(origin.utf8)
        return "\(hash.hexadecimal).\(self.fileExtension)"
    }

    /// Makes the folder and those above it, for this user alone.
    func create() throws(BlobError) {
        var ends = self.path.indices.filter { self.path[$0] == "/" && $0 != self.path.startIndex }
        ends.append(self.path.endIndex)
        for end in ends {
            let folder = String(self.path[..<end])
            // Only the last one's failure counts: what is above may be there and not be ours.
            if mkdir(folder, 0o700) != 0, errno != EEXIST, end == self.path.endIndex {
                var error = BlobError(systemError: errno, doing: "Could not make the folder \(folder)")
                error.operation = .write
                throw error
            }
        }
    }

    /// Removes index files, least recently used first, until all together are within the bound, and what writers left
    /// behind that ended in the middle. What cannot be removed stays.
    ///
    /// - Parameter keptPath: Is not removed.
    func removeSurplus(keeping keptPath: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []
        var files: [(path: String, byteCount: Int64, lastUse: timespec)] = []
        for name in names {
            let path = "\(self.path)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            if name.hasSuffix(".\(Self.fileExtension)") {
                files.append((path, Int64(status.st_size), status.lastUse))
            } else if name.hasPrefix("."), name.contains(".\(Self.fileExtension)."),
                time(nil) - status.lastUse.tv_sec > Self.longestWriting
            {
                unlink(path)
            }
        }
        var total = files.reduce(0) { $0 + $1.byteCount }
        for file in files.sorted(by: { ($0.lastUse.tv_sec, $0.lastUse.tv_nsec) < ($1.lastUse.tv_sec, $1.lastUse.tv_nsec) })
        where file.path != keptPath {
            guard total > self.maximumByteCount else { return }
            if unlink(file.path) == 0 { total -= file.byteCount }
        }
    }

    /// In seconds: a day. A temporary file that is older belongs to nobody.
    private static let longestWriting = 24 * 3600
}
