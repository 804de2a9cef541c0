import Foundation

/// A file of 1 GiB that the system has in memory, below the temporary folder.
enum FileToRead {
    static let byteCount = 1 << 30
    static let url = FileManager.default.temporaryDirectory.appendingPathComponent("stream-benchmarks.bin")

    /// The path of the file, which is made when it is not there.
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
