import Foundation

/// The benchmark file in the temporary folder, which the system keeps in its page cache: 1 GiB, or as many MiB as the
/// environment variable `BENCHMARK_MEBIBYTES` specifies.
enum FileToRead {
    static let byteCount = (ProcessInfo.processInfo.environment["BENCHMARK_MEBIBYTES"].flatMap(Int.init) ?? 1024) << 20
    static let url = FileManager.default.temporaryDirectory.appendingPathComponent("stream-benchmarks.bin")

    /// Returns the path of the file, after creating the file if it does not exist or has another size.
    static func path() throws -> String {
        let size = try? FileManager.default.attributesOfItem(atPath: self.url.path)[.size] as? Int
        guard size != self.byteCount else { return self.url.path }
        try Data().write(to: self.url)
        let file = try FileHandle(forWritingTo: self.url)
        let piece = Data(repeating: 7, count: 1 << 20)
        for _ in 0..<self.byteCount / piece.count { try file.write(contentsOf: piece) }
        try file.close()
        return self.url.path
    }

    static func remove() { try? FileManager.default.removeItem(at: self.url) }
}
