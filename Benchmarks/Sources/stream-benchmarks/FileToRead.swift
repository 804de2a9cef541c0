import Foundation

/// The benchmark file: 1 GiB in the temporary folder, which the system keeps in its page cache.
enum FileToRead {
    static let byteCount = 1 << 30
    static let url = FileManager.default.temporaryDirectory.appendingPathComponent("stream-benchmarks.bin")

    /// Returns the path of the file, and creates the file if it is missing or has another size.
    static func path() throws -> String {
        let size = try? FileManager.default.attributesOfItem(atPath: self.url.path)[.size] as? Int
        guard size != self.byteCount else { return self.url.path }
        try Data().write(to: self.url)
        let file = try FileHandle(forWritingTo: self.url)
        let piece = Data(repeating: 7, count: 64 << 20)
        for _ in 0..<self.byteCount / piece.count { try file.write(contentsOf: piece) }
        try file.close()
        return self.url.path
    }

    static func remove() { try? FileManager.default.removeItem(at: self.url) }
}
