import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Archives of other extents than usual: in volumes, with many members, and within one another.
@Suite struct VolumeTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func run(_ program: String, _ arguments: String...) throws {
        let process = try FinishedProcess(program, arguments, in: self.folder.url)
        try #require(process.status == 0, "\(process.errors)")
    }

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
                try self.run("zip", "-q", "-s", "64k", "parts.zip", "content")
                parts += [("parts.z01", .zip), ("parts.z02", .zip), ("parts.zip", .zip)]
            }
            if try self.isThere("7z") {
                try self.run("7z", "a", "-bso0", "-v64k", "parts.7z", "content")
                parts += [("parts.7z.001", .sevenzip), ("parts.7z.002", .sevenzip)]
            }
            for (name, format) in parts {
                let bytes = try Data(contentsOf: self.folder.url(name))
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

    @Test func moreMembersThanSixteenBitsCountAreRead() async throws {
        try await onThread { () throws in
            try self.run(
                "python3", "-c",
                """
                import zipfile
                with zipfile.ZipFile('many.zip', 'w') as archive:
                    for number in range(66_000): archive.writestr(str(number), b'%d' % number)
                """)
            let bytes = try Data(contentsOf: self.folder.url("many.zip"))
            let archive = ArchiveContainer(MemorySource(bytes), format: .zip)
            var count = 0
            try archive.forEachMember(BlobContext()) { _ in
                count += 1
                return true
            }
            #expect(count == 66_000)
            for number in [0, 65_535, 65_536, 65_999] {
                let member = try archive.member(.name(Array("\(number)".utf8)), context: BlobContext())
                #expect(try member.data(upTo: 100) == Data("\(number)".utf8))
            }
        }
    }

    @Test func oneLayerIsDecoded() async throws {
        try await onThread { () throws in
            try self.run(
                "python3", "-c",
                """
                import bz2, lzma, io, zipfile
                inner = lzma.compress(b'x' * 100)
                open('inner.xz', 'wb').write(inner)
                open('outer.bz2', 'wb').write(bz2.compress(inner))
                open('twice.xz', 'wb').write(lzma.compress(inner))
                with zipfile.ZipFile('outer.zip', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write('inner.xz', 'm')
                """)
            func bytes(_ name: String) throws -> Data { try Data(contentsOf: self.folder.url(name)) }
            let inner = try bytes("inner.xz")
            let member = try ArchiveContainer(MemorySource(bytes("outer.zip")), format: .zip)
                .member(.index(0), context: BlobContext())
            #expect(try member.data(upTo: 1000) == inner)
            // The library may refuse a layer in a layer, and never decodes both.
            for (name, format) in [("outer.bz2", CompressionFormat.bzip2), ("twice.xz", .xz)] {
                let source = DecompressedSource(MemorySource(try bytes(name)), format: format)
                do {
                    #expect(try source.data(upTo: 1000) == inner, "\(name)")
                } catch let error as BlobError {
                    #expect(error.code == .unsupported, "\(name)")
                }
            }
        }
    }
}
