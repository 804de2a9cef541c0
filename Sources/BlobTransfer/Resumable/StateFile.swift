package import BlobCore
import BlobPlatform

/// A small file with a state, as JSON, for this user alone.
package struct StateFile<State: Codable & Sendable>: Sendable {
    /// The largest file that is read, in bytes.
    private static var maximumByteCount: Int { 64 * 1024 }

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns the state; nil if there is none, or if the file is no state.
    package func load() -> State? {
        let descriptor = uninterrupted { open(self.path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = withUnsafeTemporaryAllocation(byteCount: Self.maximumByteCount, alignment: 16) { buffer in
            let count = try? RegularFile.fill(buffer, from: descriptor, at: 0, named: self.path)
            return Data(buffer.prefix(count ?? 0))
        }
        return try? JSONDecoder().decode(State.self, from: bytes)
    }

    /// Replaces the state, and waits until it is on the disk. Makes the folder if it is missing.
    package func store(_ state: State) throws(BlobError) {
        do {
            let separator = self.path.lastIndex(of: "/")
            let folder = separator.map { self.path[..<$0] + "/" } ?? "."
            try FileManager.default.createDirectory(
                atPath: String(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let descriptor = uninterrupted { open(String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(folder)") }
            defer { close(descriptor) }
            let name = separator.map { self.path[self.path.index(after: $0)...] } ?? self.path[...]
            let file = try AtomicFile(named: String(name), in: descriptor)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(state).withUnsafeBytes { try file.write($0) }
            try file.commit()
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    package func remove() { _ = unlink(self.path) }
}
