import BlobIndex
import BlobStreams
import BlobTestSupport
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

extension TemporaryFolder {
    /// Where an index of `origin` is kept in this folder.
    func index(of origin: String = "file:///a.gz", maximumByteCount: Int64 = 1 << 20) throws -> IndexFile {
        let policy = BlobIndexPolicy.folder(self.path, maximumByteCount: maximumByteCount)
        return try #require(IndexFile(policy, for: BlobLocator(origin)))
    }
}

func read(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: path))) }
