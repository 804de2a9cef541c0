import ArchiveSource
import BlobCore
import BlobDeflate
import BlobTestSupport
package import Foundation
import GzipSource

/// The intact contents whose indexes are fuzzed, and what is true of them.
package enum FuzzContent {
    /// The folder with the inputs of all targets, in a folder each.
    package static let seeds = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Seeds", isDirectory: true)

    /// A gzip whose blocks are of the lengths in `Seeds/README.md`.
    static let blocks = Gzip()
    /// The gzip data that the stored indexes of other tools are of.
    static let bgzipBlocks = Plain("blocks.gz")
    static let text = Plain("text.gz")
    /// Data of several blocks.
    static let (bzip2, zstd) = (Blocks("blocks.bz2", .bzip2), Blocks("blocks.zst", .zstd))
    /// More members than a block of a table has.
    static let tar = Archive("members.tar.gz", .tar)
    static let zip = Archive("members.zip.gz", .zip)

    fileprivate static func file(_ name: String) -> [UInt8] {
        guard let bytes = try? Data(contentsOf: Self.seeds.appendingPathComponent("contents/\(name)")) else {
            fatalError("There is no \(name) in \(Self.seeds.path).")
        }
        return Array(bytes)
    }

    struct Plain: Sendable {
        let source: MemorySource
        let bytes: [UInt8]

        fileprivate init(_ name: String) {
            let fixtures = FuzzContent.seeds.appendingPathComponent("../../GzipSourceTests/Fixtures")
            guard let gzip = try? Data(contentsOf: fixtures.appendingPathComponent(name)) else {
                fatalError("There is no \(name) in \(fixtures.path).")
            }
            self.bytes = ZlibDecoded(gzip: Array(gzip), atMost: Outcome.maximumByteCount).bytes
            self.source = MemorySource(Array(gzip), validator: .strong("fuzz"))
        }
    }

    struct Gzip: Sendable {
        let source: MemorySource
        let bytes: [UInt8]
        /// The index file that this version makes.
        let index: [UInt8]
        let truePoints: [UInt8]?

        fileprivate init() {
            let gzip = FuzzContent.file("blocks.gz")
            self.bytes = ZlibDecoded(gzip: gzip, atMost: Outcome.maximumByteCount).bytes
            let source = MemorySource(gzip, validator: .strong("fuzz"))
            self.source = source
            self.index = builtIndex { path in
                // zlib finds the end of each block, wherever the pieces end.
                let indexed = GzipSource(
                    source, format: .gzip, index: .file(path), library: .zlib, tuning: fuzzedIndexTuning)
                _ = try indexed.buildIndex(BlobContext())
            }
            self.truePoints = IndexImage(self.index)?.payload(of: "PNTS", in: self.index)
        }
    }

    struct Blocks: Sendable {
        let format: CompressionFormat
        let source: MemorySource
        let bytes: [UInt8]
        /// The index file that this version makes.
        let index: [UInt8]
        let trueBlocks: [UInt8]?

        fileprivate init(_ name: String, _ format: CompressionFormat) {
            let source = MemorySource(FuzzContent.file(name), validator: .strong("fuzz"))
            (self.source, self.format) = (source, format)
            let whole = try? Outcome(of: DecompressedSource(source, format: format), pieceByteCount: 60_000)
            self.bytes = whole?.bytes ?? []
            self.index = builtIndex { path in
                _ = try DecompressedSource(source, format: format, index: .file(path)).buildIndex(BlobContext())
            }
            self.trueBlocks = IndexImage(self.index)?.payload(of: "BLKS", in: self.index)
        }
    }

    struct Archive: Sendable {
        let format: ArchiveFormat
        let source: MemorySource
        let members: [BlobMember]
        let contents: [Outcome]
        /// The index file that this version makes.
        let index: [UInt8]
        let trueTable: [UInt8]?

        fileprivate init(_ name: String, _ format: ArchiveFormat) {
            let bytes = ZlibDecoded(gzip: FuzzContent.file(name), atMost: Outcome.maximumByteCount).bytes
            let source = MemorySource(bytes, validator: .strong("fuzz"))
            (self.source, self.format) = (source, format)
            let archive = BlobArchive(source, format: format)
            let members = (try? archive.members()) ?? []
            self.members = members
            self.contents = members.compactMap { try? memberOutcome(archive, .index($0.index)) }
            self.index = builtIndex { path in
                _ = try ArchiveContainer(source, format: format, index: .file(path)).buildIndex(BlobContext())
            }
            self.trueTable = IndexImage(self.index)?.payload(of: "MEMB", in: self.index)
        }
    }

    /// The index files that this version makes, by target and name.
    package static var ownSeeds: [(target: FuzzTarget, name: String, bytes: [UInt8])] {
        [
            (.index, "blocks.blobindex", Self.blocks.index), (.blocks, "bzip2.blobindex", [0] + Self.bzip2.index),
            (.blocks, "zstd.blobindex", [1] + Self.zstd.index), (.table, "tar.blobindex", [0] + Self.tar.index),
            (.table, "zip.blobindex", [1] + Self.zip.index),
        ]
    }
}

private func builtIndex(_ build: (String) throws -> Void) -> [UInt8] {
    do {
        let folder = try TemporaryFolder()
        try build(folder.path("index"))
        return try folder.bytes("index")
    } catch {
        fatalError("No index can be made: \(error)")
    }
}

extension TemporaryFolder {
    /// The bytes of a file in the folder.
    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: self.url(name))) }
}
