import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import ArchiveSource

/// Few bytes that decode to many, in each decoder of an archive: an error in time, and never an end.
@Suite struct RatioLimitTests {
    /// The folder with 32 MiB of zeros in many forms.
    private static let folder = Result {
        let folder = try TemporaryFolder()
        let script = #"""
            import bz2, lzma, zipfile
            zeros = bytes(32 << 20)
            parts = [zeros[:8 << 20]] * 4
            for name, compress in [('xz', lambda b: lzma.compress(b, preset=0)), ('bz2', bz2.compress)]:
                open('one.' + name, 'wb').write(compress(zeros))
                open('four.' + name, 'wb').write(b''.join(map(compress, parts)))
            open('one.lzma', 'wb').write(lzma.compress(zeros, format=lzma.FORMAT_ALONE, preset=0))
            for name, method in [
                ('deflated', zipfile.ZIP_DEFLATED), ('bzip2', zipfile.ZIP_BZIP2), ('lzma', zipfile.ZIP_LZMA)]:
                with zipfile.ZipFile(name + '.zip', 'w', method) as archive: archive.writestr('m', zeros)
            with zipfile.ZipFile('nested.zip', 'w', zipfile.ZIP_DEFLATED) as archive: archive.write('deflated.zip', 'in.zip')
            open('zeros', 'wb').write(zeros)
            """#
        let tools = """
            command -v zstd >/dev/null && zstd -q zeros -o one.zst && split -n 4 zeros part. \
              && for part in part.*; do zstd -q -c $part; done > four.zst
            command -v 7z >/dev/null && 7z a -bso0 lzma.7z zeros && 7z a -bso0 -m0=ppmd ppmd.7z zeros
            exit 0
            """
        try folder.run("python3", "-c", script)
        try folder.run("sh", "-c", tools)
        return folder
    }

    private static var limited: BlobContext {
        var context = BlobContext()
        context.ratioLimit = 200
        return context
    }

    /// A source in the folder; nil when the tool that makes it is not there.
    private static func file(_ name: String) throws -> FileSource? {
        let path = try self.folder.get().path(name)
        return FileManager.default.fileExists(atPath: path) ? FileSource(path: path) : nil
    }

    /// Expects the limit after some bytes, and the end without it.
    private func expectLimit(_ source: any BlobInputStreamDataSource, of base: FileSource, _ name: String) throws {
        var byteCount = 0
        let reader = try source.open(context: Self.limited)
        let error = #expect(throws: BlobError.self, "\(name)") {
            while case let piece = try read(reader), !piece.isEmpty { byteCount += piece.count }
        }
        #expect(error?.code == .limitExceeded, "\(name)")
        #expect(error?.message.contains("ratio limit of 200 to 1") == true, "\(name): \(error?.message ?? "")")
        let compressedByteCount = Int(try base.info().byteCount ?? 0)
        #expect(byteCount > 1 << 19 && byteCount < 200 * compressedByteCount + (9 << 20), "\(name): \(byteCount)")
        #expect(try source.data(upTo: 33 << 20).count == 32 << 20, "\(name)")
    }

    @Test(arguments: [
        ("one.xz", CompressionFormat.xz), ("four.xz", .xz), ("one.bz2", .bzip2), ("four.bz2", .bzip2),
        ("one.zst", .zstd),
        ("four.zst", .zstd), ("one.lzma", .lzma),
    ])
    func filtersLimitTheirRatio(name: String, format: CompressionFormat) async throws {
        try await onThread { () throws in
            guard let file = try Self.file(name) else { return }
            // With its blocks on several threads, and by libarchive.
            try self.expectLimit(DecompressedSource(file, format: format), of: file, name)
            let bytes = try file.data(upTo: 1 << 20)
            try self.expectLimit(DecompressedSource(SequentialSource(bytes), format: format), of: file, name)
            let error = #expect(throws: BlobError.self) {
                let source = DecompressedSource(file, format: format)
                let reader = try source.open(at: 16 << 20, context: Self.limited)
                while try !read(reader).isEmpty {}
            }
            #expect(error?.code == .limitExceeded, "\(name)")
        }
    }

    @Test(arguments: ["deflated.zip", "bzip2.zip", "lzma.zip", "lzma.7z", "ppmd.7z"])
    func membersLimitTheirRatio(name: String) async throws {
        try await onThread { () throws in
            guard let file = try Self.file(name) else { return }
            let format: ArchiveFormat = name.hasSuffix("zip") ? .zip : .sevenzip
            let archive = ArchiveContainer(file, format: format, isolation: .helper(at: HelperTests.path))
            try self.expectLimit(archive.member(.index(0), context: BlobContext()), of: file, name)
        }
    }

    /// The outer member is copied first, and has a ratio of its own.
    @Test func aMemberOfAMemberLimitsItsRatio() async throws {
        try await onThread { () throws in
            let file = try #require(try Self.file("nested.zip"))
            let inner = try ArchiveContainer(file, format: .zip).member(.index(0), context: BlobContext())
            let member = try ArchiveContainer(inner, format: .zip).member(.index(0), context: BlobContext())
            let error = #expect(throws: BlobError.self) {
                let reader = try member.open(context: Self.limited)
                while try !read(reader).isEmpty {}
            }
            #expect(error?.code == .limitExceeded)
            #expect(try member.data(upTo: 33 << 20).count == 32 << 20)
        }
    }
}
