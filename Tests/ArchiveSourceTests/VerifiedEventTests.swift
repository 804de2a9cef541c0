import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// What the layers report about their checksums.
@Suite struct VerifiedEventTests {
    private static let zstd: [UInt8] = Array("(\u{B5}/\u{FD}".unicodeScalars.map { UInt8($0.value) })
    private static let frame = zstd + [0x24, 5, 0x29, 0, 0] + Array("hello".utf8) + [0xA3, 0x6D, 0x9F, 0x88]
    private static let bareFrame = zstd + [0x20, 5, 0x29, 0, 0] + Array("hello".utf8)
    private static let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]

    private static func lz4(flags: UInt8, headerSum: UInt8, contentSum: [UInt8] = []) -> [UInt8] {
        [4, 0x22, 0x4D, 0x18, flags, 0x40, headerSum, 5, 0, 0, 0x80] + Array("hello".utf8) + [0, 0, 0, 0] + contentSum
    }

    private static let checkedLZ4 = lz4(flags: 0x64, headerSum: 0xA7, contentSum: [0xF9, 0x77, 0, 0xFB])
    private static let bareLZ4 = lz4(flags: 0x60, headerSum: 0x82)

    /// Reads a source to its end, and returns the checks that it reports.
    private func checks(_ source: any BlobInputStreamDataSource) throws -> [String] {
        let events = Locked<[String]>([])
        let context = BlobContext(eventSink: { event in
            guard let layer = event.layer else { return }
            #expect((event.kind == .verified) == (event.check != nil))
            events.withLock { $0.append("\(layer) \(event.check ?? "none") \(event.value)") }
        })
        let reader = try source.open(context: context)
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 1)
        defer { buffer.deallocate() }
        while try reader.readBlocking(into: buffer) > 0 {}
        _ = try reader.readBlocking(into: buffer)
        return events.withLock { $0.sorted() }
    }

    @Test func eachLayerReportsItsChecksum() async throws {
        let cases: [(CompressionFormat, [UInt8], [String])] = [
            (.zstd, Self.frame, ["zstd XXH64 5"]), (.zstd, Self.bareFrame, ["zstd none 5"]),
            (.lz4, Self.checkedLZ4, ["lz4 XXH32 5"]), (.lz4, Self.bareLZ4, ["lz4 none 5"]),
            (.lz4, Self.checkedLZ4 + Self.checkedLZ4, ["lz4 XXH32 10"]),
            (.lz4, Self.checkedLZ4 + Self.bareLZ4, ["lz4 none 10"]),
            (.lz4, Self.checkedLZ4 + Self.skippable, ["lz4 XXH32 5"]),
        ]
        try await onThread { () throws in
            for (format, bytes, expected) in cases {
                let source = DecompressedSource(SequentialSource(Data(bytes)), format: format)
                #expect(try self.checks(source) == expected, "\(format), \(bytes.count) bytes")
                let drip = DecompressedSource(OneByteSource(bytes: Data(bytes)), format: format)
                #expect(try self.checks(drip) == expected, "\(format), \(bytes.count) bytes, one a read")
            }
        }
    }

    /// With random access, frames are decoded as blocks.
    @Test func theBytesOfEachFrameCountForThemselves() async throws {
        try await onThread { () throws in
            let bytes = Data(Self.frame + Self.skippable + Self.bareFrame + Self.frame)
            let source = DecompressedSource(MemorySource(bytes), format: .zstd)
            let checks = try self.checks(source)
            #expect(checks == ["zstd XXH64 10", "zstd none 5"] || checks == ["zstd none 15"], "\(checks)")
            #expect(try self.checks(DecompressedSource(SequentialSource(bytes), format: .zstd)) == ["zstd none 15"])
        }
    }

    /// The format `070702` has the sum of the bytes, and the others have none.
    @Test(arguments: ["070701": "cpio none 5", "070702": "cpio sum 5"])
    func theSumOfAMemberOfACpioIsReported(magic: String, expected: String) async throws {
        func header(_ name: String, _ fields: [Int]) -> String {
            magic
                + fields.map { String($0, radix: 16) }.map { String(repeating: "0", count: 8 - $0.count) + $0 }.joined()
                + name + String(repeating: "\0", count: 4 - (110 + name.utf8.count) % 4)
        }
        let sum = "hello".utf8.reduce(0) { $0 + Int($1) }
        let text =
            header("name", [1, 0o100644, 0, 0, 1, 0, 5, 0, 0, 0, 0, 5, magic == "070702" ? sum : 0]) + "hello\0\0\0"
            + header("TRAILER!!!", [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 0])
        try await onThread { () throws in
            for base in [MemorySource(Data(text.utf8)), SequentialSource(Data(text.utf8))]
                as [any BlobInputStreamDataSource]
            {
                let member = try ArchiveContainer(base, format: .cpio).member(.index(0), context: BlobContext())
                #expect(try self.checks(member) == [expected])
            }
        }
    }

    @Test func aLayerThatFailsOrIsLeftReportsNothing() async throws {
        try await onThread { () throws in
            let bytes = Self.frame.flipping(at: Self.frame.count - 1)
            for base in [SequentialSource(Data(bytes)), MemorySource(Data(bytes))] as [any BlobInputStreamDataSource] {
                let events = Locked(0)
                let context = BlobContext(eventSink: { _ in events.withLock { $0 += 1 } })
                let source = DecompressedSource(base, format: .zstd)
                #expect(throws: BlobError.self) { try source.data(upTo: 10, context: context) }
                #expect(events.withLock { $0 } == 0)
            }
            let left = Locked(0)
            let context = BlobContext(eventSink: { _ in left.withLock { $0 += 1 } })
            let reader = try GzipSource(GzipEncodedSource(MemorySource("hello".utf8))).open(context: context)
            _ = try read(reader, upTo: 2)
            reader.close()
            #expect(left.withLock { $0 } == 0)
        }
    }

    @Test func membersReportTheirOwnAndTheLayersAroundThem() async throws {
        let folder = try TemporaryFolder()
        let script = """
            import io, tarfile, zipfile
            info = tarfile.TarInfo('a')
            info.size = 5
            for name in ('x.tar', 'x.tgz'):
                with tarfile.open(name, 'w:gz' if name == 'x.tgz' else 'w') as archive:
                    archive.addfile(info, io.BytesIO(b'hello'))
            for name, method in (('s.zip', 0), ('d.zip', 8), ('l.zip', 14)):
                with zipfile.ZipFile(name, 'w', method) as archive: archive.writestr('a', b'hello')
            """
        try folder.run("python3", "-c", script)
        try await onThread { () throws in
            let name = BlobLocator.Selector.name(Array("a".utf8))
            let file = { FileSource(path: folder.path($0)) }
            let member = { (base: any BlobInputStreamDataSource, format: ArchiveFormat) throws in
                try ArchiveContainer(base, format: format).member(name, context: BlobContext())
            }
            #expect(try self.checks(member(file("x.tar"), .tar)) == ["tar none 5"])
            let known = try member(file("x.tar"), .tar)
            _ = try known.info()
            #expect(try self.checks(known) == ["tar none 5"])
            let gzip = GzipSource(file("x.tgz"))
            #expect(try self.checks(member(gzip, .tar)) == ["gzip CRC-32 10240", "tar none 5"])
            for zip in ["s.zip", "d.zip", "l.zip"] {
                #expect(try self.checks(member(file(zip), .zip)) == ["zip CRC-32 5"])
                // Found by another job, which wants no events.
                let known = try member(file(zip), .zip)
                _ = try known.info()
                #expect(try self.checks(known) == ["zip CRC-32 5"])
            }
        }
    }
}
