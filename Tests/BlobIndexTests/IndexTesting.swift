import BlobIndex
import BlobStreams
import Foundation
import Testing

extension IndexSection.Key {
    static let points = Self(layer: "gzip", kind: .restartPoints)
    static let members = Self(layer: "tar+gzip", kind: .members)
}

extension IndexedContent {
    static let sample = IndexedContent(byteCount: 1000, validator: "strong:a", edgeChecksum: 7)
    static let changed = IndexedContent(byteCount: 1000, validator: "strong:b", edgeChecksum: 7)
}

/// A folder for index files that is removed, with what is in it, by its owner.
struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/BlobStreams-XXXXXX".utf8CString)
        let made = mkdtemp(&template)
        self.path = try String(cString: #require(made))
    }

    func path(_ name: String) -> String { "\(self.path)/\(name)" }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.path).sorted() }
    }

    func remove() { try? FileManager.default.removeItem(atPath: self.path) }

    /// Where an index of `origin` is kept in this folder.
    func index(of origin: String = "file:///a.gz", maximumByteCount: Int64 = 1 << 20) throws -> IndexFile {
        let policy = BlobIndexPolicy.folder(self.path, maximumByteCount: maximumByteCount)
        return try #require(IndexFile(policy, for: BlobLocator(origin)))
    }
}

func read(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: path))) }

func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

/// Runs `bodies` at the same time, each on a thread of its own, and waits for all.
func onThreads(_ bodies: [@Sendable () -> Void]) {
    let group = DispatchGroup()
    for body in bodies {
        group.enter()
        Thread {
            body()
            group.leave()
        }
        .start()
    }
    group.wait()
}
