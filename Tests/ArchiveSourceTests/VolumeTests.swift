import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Archives of other extents than usual: in volumes, and within one another.
@Suite struct VolumeTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func isThere(_ program: String) throws -> Bool {
        try FinishedProcess("sh", ["-c", "command -v \(program)"], in: self.folder.url).status == 0
    }

    /// No part tells of the others where its members lie; each is shorter than the archive says.
    @Test func aPartOfAnArchiveInVolumesIsAnError() async throws {
        try await onThread { () throws in
            var numbers = SplitMix64(seed: 3)
            let content = (0..<40_000).flatMap { _ in withUnsafeBytes(of: numbers.next(), Array.init) }
            _ = try self.folder.write(content, to: "content")
            var parts: [(name: String, format: ArchiveFormat)] = []
            if try self.isThere("zip") {
                try self.folder.run("zip", "-q", "-s", "64k", "parts.zip", "content")
                parts += [("parts.z01", .zip), ("parts.z02", .zip), ("parts.zip", .zip)]
            }
            if try self.isThere("7z") {
                try self.folder.run("7z", "a", "-bso0", "-v64k", "parts.7z", "content")
                parts += [("parts.7z.001", .sevenzip), ("parts.7z.002", .sevenzip)]
            }
            for (name, format) in parts {
                let bytes = try self.folder.bytes(name)
                let archive = ArchiveContainer(MemorySource(bytes), format: format)
                for selector in [BlobLocator.Selector.name(Array("content".utf8)), .index(0)] {
                    let error = #expect(throws: BlobError.self, "\(name)") {
                        try archive.member(selector, context: BlobContext()).data(upTo: 1 << 20)
                    }
                    #expect(error?.code != .internalError && error?.code != .misbehavingPlugin, "\(name)")
                }
            }
        }
    }

    @Test func oneLayerIsDecoded() async throws {
        try await onThread { () throws in
            try self.folder.run(
                "python3", "-c",
                """
                import bz2, lzma, io, zipfile
                inner = lzma.compress(b'x' * 100)
                open('inner.xz', 'wb').write(inner)
                open('outer.bz2', 'wb').write(bz2.compress(inner))
                open('twice.xz', 'wb').write(lzma.compress(inner))
                with zipfile.ZipFile('outer.zip', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write('inner.xz', 'm')
                """)
            let inner = try Data(self.folder.bytes("inner.xz"))
            let member = try ArchiveContainer(MemorySource(self.folder.bytes("outer.zip")), format: .zip)
                .member(.index(0), context: BlobContext())
            #expect(try member.data(upTo: 1000) == inner)
            // The library may refuse a layer in a layer, and never decodes both.
            for (name, format) in [("outer.bz2", CompressionFormat.bzip2), ("twice.xz", .xz)] {
                let source = DecompressedSource(MemorySource(try self.folder.bytes(name)), format: format)
                do {
                    #expect(try source.data(upTo: 1000) == inner, "\(name)")
                } catch let error as BlobError {
                    #expect(error.code == .unsupported, "\(name)")
                }
            }
        }
    }
}
