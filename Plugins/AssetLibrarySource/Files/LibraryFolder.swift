import BlobStreams
import Foundation

/// Where things lie in a library: all paths are made here.
///
///     catalog.sqlite            the catalogue, with its -wal and -shm
///     lock                      held by importers (shared) and by recovery (exclusive)
///     originals/AA/UUID.EXT     AA is the beginning of the UUID
///     originals/.incoming       what imports and removals are at work on
///     originals/.quarantine     files that no row names
struct LibraryFolder: Sendable {
    let path: String

    init(_ url: URL) { self.path = url.standardizedFileURL.path }

    var cataloguePath: String { "\(self.path)/\(Catalogue.fileName)" }
    var lockPath: String { "\(self.path)/lock" }
    var originalsPath: String { "\(self.path)/\(Self.originals)" }
    var incomingPath: String { "\(self.originalsPath)/.incoming" }
    var quarantinePath: String { "\(self.originalsPath)/.quarantine" }

    static let originals = "originals"

    /// Where a new original goes, relative to the library.
    static func storedPath(for id: UUID, fileExtension: String?) -> String {
        let suffix = fileExtension.map { ".\($0.lowercased())" } ?? ""
        return "\(self.originals)/\(id.uuidString.prefix(2))/\(id.uuidString)\(suffix)"
    }

    /// The path of an original, as the catalogue has it.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a path that leads out of the originals.
    func path(ofStored storedPath: String) throws(BlobError) -> String {
        let parts = storedPath.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isPlain = parts.dropFirst().allSatisfy { $0.first != nil && $0.first != UInt8(ascii: ".") }
        guard parts.count > 1, parts[0].elementsEqual(Self.originals.utf8), isPlain, !storedPath.utf8.contains(0) else {
            throw BlobError(.corrupted, "The catalogue names an original outside of the library: '\(storedPath)'.")
        }
        return "\(self.path)/\(storedPath)"
    }

    var exists: Bool { FileManager.default.fileExists(atPath: self.cataloguePath) }

    /// Makes the folders that are not there yet.
    func makeFolders() throws(BlobError) {
        for path in [self.originalsPath, self.incomingPath, self.quarantinePath] { try Self.makeFolder(path) }
    }

    /// Makes a folder, and those above it, unless it is there.
    static func makeFolder(_ path: String) throws(BlobError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// The names in a folder; none when it is not there.
    static func names(in path: String) throws(BlobError) -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Makes the names in a folder survive a loss of power.
    static func synchronise(_ path: String) throws(BlobError) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(path)") }
        defer { close(descriptor) }
        // Some file systems have nothing to synchronise in a folder, and say so.
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(path)")
        }
    }
}
