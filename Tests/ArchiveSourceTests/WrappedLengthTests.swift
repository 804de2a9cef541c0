import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import ArchiveSource

/// Members of 4 GiB and more in a zip whose writer gives lengths modulo 2^32, as that of macOS does.
@Suite struct WrappedLengthTests {
    /// Makes a zip of zeros: the deflate data of 16 MiB, repeated.
    ///
    /// - Parameter checksum: The CRC-32 in hexadecimal digits.
    private func zip(
        mebibytes: Int, declared: Int64, checksum: String = "0", deferred: Bool = true
    ) async throws -> Data {
        let script = #"""
            import struct, sys, zlib
            count, declared, sum, flags = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3], 16), int(sys.argv[4])
            packer = zlib.compressobj(9, 8, -15)
            part = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
            data = part * (count // 16) + packer.flush()
            numbers = struct.pack('<III', sum, len(data), declared)
            middle = lambda numbers: struct.pack('<HHHHH', 20, flags, 8, 0, 0x21) + numbers
            local = b'PK\3\4' + middle(bytes(12) if flags else numbers) + struct.pack('<HH', 1, 0) + b'm' + data
            if flags: local += b'PK\7\x08' + numbers
            entry = b'PK\1\2' + struct.pack('<H', 0x315) + middle(numbers) \
                + struct.pack('<HHHHHII', 1, 0, 0, 0, 0, 0o100644 << 16, 0) + b'm'
            end = b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, 1, 1, len(entry), len(local), 0)
            open('wrapped.zip', 'wb').write(local + entry + end)
            """#
        return try await onThread {
            let folder = try TemporaryFolder()
            try folder.run(
                "python3", "-c", script, "\(mebibytes)", "\(declared)", checksum, deferred ? "8" : "0")
            return try Data(contentsOf: folder.url("wrapped.zip"))
        }
    }

    private func isLikely(_ bytes: Data) async throws -> Bool {
        try await onThread {
            let search = ZipSearch(base: MemorySource(bytes), selector: .index(0), context: BlobContext())
            return try WrappedLength.isLikely(of: search.open())
        }
    }

    @Test func aLikelyLengthIsKnownAndAnotherIsNot() async throws {
        let (mebibyte, wrap) = (Int64(1 << 20), Int64(1 << 32))
        // 4 GiB and 16 MiB, 5 GiB, and nearly 8 GiB.
        for count in [4112, 5120, 8176] {
            let bytes = try await self.zip(mebibytes: count, declared: Int64(count) * mebibyte - wrap)
            #expect(try await self.isLikely(bytes))
            let info = try await onThread {
                try ArchiveContainer(MemorySource(bytes), format: .zip).member(.name("m"), context: BlobContext())
                    .info()
            }
            #expect(info.byteCount == nil)
            // As its directory says, like other programs.
            let members = try await ArchiveContainer(MemorySource(bytes), format: .zip).members()
            #expect(members.map(\.byteCount) == [Int64(count) * mebibyte - wrap])
        }
        for count in [16, 4080] {
            let bytes = try await self.zip(mebibytes: count, declared: Int64(count) * mebibyte)
            #expect(try await !self.isLikely(bytes))
        }
    }

    /// The CRC-32 of zeros, by their number in MiB.
    private static let checksumsOfZeros = [4080: "b9401305", 4112: "44af3ba2"]

    /// Counts the bytes of a source, up to an error; with the code of that.
    private static func count(_ source: any BlobInputStreamDataSource) -> (byteCount: Int64, code: BlobError.Code?) {
        var byteCount: Int64 = 0
        let code = codeThrown {
            let reader = try source.open()
            defer { reader.close() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
            defer { buffer.deallocate() }
            while case let more = try reader.readBlocking(into: buffer), more > 0 { byteCount += Int64(more) }
        }
        return (byteCount, code)
    }

    /// Reads 4 GiB and 16 MiB.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            (16 << 20, checksumsOfZeros[4112], true, nil), (16 << 20, "00000001", false, .checksumMismatch),
            (16 << 20 | 1, "0", true, .sizeMismatch),
        ] as [(Int64, String?, Bool, BlobError.Code?)])
    func aWrappedLengthIsReadIfItAgreesAndTheChecksumIsRight(
        declared: Int64, checksum: String?, isDeferred: Bool, expected: BlobError.Code?
    ) async throws {
        let bytes = try await self.zip(
            mebibytes: 4112, declared: declared, checksum: #require(checksum), deferred: isDeferred)
        let (count, code) = try await onThread {
            let archive = ArchiveContainer(MemorySource(bytes), format: .zip)
            return Self.count(try archive.member(.name("m"), context: BlobContext()))
        }
        #expect(code == expected)
        #expect(count == 4112 << 20 || declared != 16 << 20)
    }

    /// A stored member of 4 GiB and 16 MiB of zeros, one of 4 GiB less 16 MiB, and small ones between and after them:
    /// the offsets of these, of the directory, and a length are modulo 2^32.
    @Test(.timeLimit(.minutes(5))) func wrappedOffsetsAndStoredLengthsAreRead() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let script = #"""
                import struct, sys, zlib
                file, entries = open('offsets.zip', 'wb'), b''
                for name, mebibytes, data, sum in [
                    (b'a', 4112, b'', int(sys.argv[1], 16)), (b'b', 0, b'bee', None), (b'c', 4080, b'', int(sys.argv[2], 16)),
                    (b'd', 0, b'dee' * 10, None)]:
                    offset, packed = file.tell(), data
                    method = 8 if len(data) > 9 else 0
                    if method: packer = zlib.compressobj(9, 8, -15); packed = packer.compress(data) + packer.flush()
                    sum = zlib.crc32(data) if sum is None else sum
                    numbers = struct.pack('<III', sum, len(packed) + (mebibytes << 20) & 0xFFFFFFFF,
                        len(data) + (mebibytes << 20) & 0xFFFFFFFF)
                    flags = 0 if name == b'a' else 8
                    middle = lambda numbers: struct.pack('<HHHHH', 20, flags, method, 0, 0x21) + numbers
                    file.write(b'PK\3\4' + middle(bytes(12) if flags else numbers) + struct.pack('<HH', 1, 0) + name + packed)
                    file.seek(mebibytes << 20, 1)
                    if flags: file.write(b'PK\7\x08' + numbers)
                    entries += b'PK\1\2' + struct.pack('<H', 0x315) + middle(numbers) \
                        + struct.pack('<HHHHHII', 1, 0, 0, 0, 0, 0o100644 << 16, offset & 0xFFFFFFFF) + name
                start = file.tell()
                file.write(entries + b'PK\5\6' + struct.pack('<HHHHIIH', 0, 0, 4, 4, len(entries), start & 0xFFFFFFFF, 0))
                """#
            let sums = try [4112, 4080].map { try #require(Self.checksumsOfZeros[$0]) }
            try folder.run("python3", ["-c", script] + sums)

            let archive = ArchiveContainer(FileSource(path: folder.path("offsets.zip")), format: .zip)
            let lengths = ["a": 4112 << 20, "b": 3, "c": 4080 << 20, "d": 30] as [String: Int64]
            func check(_ selector: BlobLocator.Selector, _ name: String) throws {
                let member = try archive.member(selector, context: BlobContext())
                let count = try #require(lengths[name])
                #expect(try member.info().byteCount == count, "\(name)")
                if count < 100 { #expect(try readAll(member.open()).count == count) }
            }
            for isListed in [false, true] {
                if isListed { try archive.forEachMember(BlobContext()) { _ in true } }
                for name in ["d", "b", "a", "c"] { try check(.name(Array(name.utf8)), name) }
                for (index, name) in ["a", "b", "c", "d"].enumerated() { try check(.index(index), name) }
            }
            // To their ends, where their checksums are. The length of `c` is as it says.
            try archive.forEachSource(BlobContext()) { member, source in
                guard member.name != Array("c".utf8) else { return }
                let (count, code) = Self.count(source)
                #expect(count == lengths[String(decoding: member.name, as: UTF8.self)] && code == nil)
            }
        }
    }
}
