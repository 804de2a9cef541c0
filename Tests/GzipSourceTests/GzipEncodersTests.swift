import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import CZlib
import Foundation
import Testing

@testable import GzipSource

/// What the encoders of this world write: read whole, and at any place with an index.
@Suite(.timeLimit(.minutes(10))) struct GzipEncodersTests {
    private static let bytes = sampleBytes(600_000) + mixedBytes(1_900_000)

    @Test(arguments: InflateLibrary.available, [Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_FILTERED])
    func everyStrategyOfZlib(library: InflateLibrary, strategy: CInt) throws {
        for level in [0, 1, 6, 9] as [CInt] {
            try self.check(Self.encoded(Self.bytes, level: level, strategy: strategy), library, "level \(level)")
        }
    }

    @Test(arguments: InflateLibrary.available, [Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK])
    func flushesAtAnyPlace(library: InflateLibrary, flush: CInt) throws {
        try self.check(Self.encoded(Self.bytes, flush: flush), library, "flush \(flush)")
    }

    @Test(arguments: [
        ["gzip", "-1"], ["gzip", "-6"], ["gzip", "-9"], ["igzip", "-0"], ["igzip", "-1"], ["igzip", "-2"],
        ["igzip", "-3"], ["pigz", "-p2"], ["pigz", "-p2", "-i"], ["pigz", "-11"], ["bgzip"],
    ]) func theToolsThatAreHere(command: [String]) async throws {
        guard let path = Self.path(of: command[0]) else { return }
        let folder = try TemporaryFolder()
        try Self.bytes.write(to: URL(fileURLWithPath: folder.path("data")))
        let encoded = try await onThread {
            try FinishedProcess(path, command.dropFirst() + ["-c", folder.path("data")]).output
        }
        for library in InflateLibrary.available { try self.check(encoded, library, "\(command)") }
    }

    /// More than 2^32 bytes in one member, of which a full flush makes a few that are repeated.
    @Test func aMemberOfMoreThanFourGibibytesIsReadAndReadAgainByPoints() async throws {
        let folder = try TemporaryFolder()
        // Matches of any length but with a distance of one, which takes decoders the longest.
        let line = Data(
            "The quick brown fox jumps over the lazy dog, again and again, until all is said and done.\n".utf8)
        let decoded =
            mixedBytes(1_000_000) + (0..<166_667).reduce(into: Data()) { $0 += [UInt8](line) + [UInt8($1 % 7)] }
        let part = Self.encoded(decoded, flush: Z_FULL_FLUSH, pieceByteCount: .max).dropFirst(10)
        let partByteCount = decoded.count
        let count = (1 << 32) / partByteCount + 3
        let total = Int64(count) * Int64(partByteCount)
        let file = try await onThread {
            var file = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
            // What follows the last flush is the empty last block and the trailer of one part.
            let body = Data(part.dropLast(2 + 8))
            var sum = CRC32()
            let bytes = Array(decoded)
            for _ in 0..<count {
                file.append(body)
                bytes.withUnsafeBytes { sum.update($0) }
            }
            file.append(contentsOf: [3, 0])
            for number in [sum.value, UInt32(truncatingIfNeeded: total)] {
                withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
            }
            return try folder.file("data.gz", file)
        }
        let policy = BlobIndexPolicy.file(folder.path("index"))
        try await onThread {
            #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
            let source = GzipSource(file, index: policy)
            #expect(try source.info(BlobContext()).byteCount == total)
            let beginning = Array(mixedBytes(1_000_000).prefix(1000))
            for part in [1, 200, count - 1] {
                let reader = try source.open(at: Int64(part) * Int64(partByteCount))
                #expect(try reader.bytes(atMost: 1000) == beginning)
            }
            // All of it once more, by points and several threads.
            let reader = try source.open()
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
            defer { buffer.deallocate() }
            while try reader.readBlocking(into: buffer) > 0 {}
            #expect(reader.byteOffset == total)
        }
    }

    private func check(_ encoded: Data, _ library: InflateLibrary, _ name: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", encoded)
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let source = GzipSource(file, format: .gzip, index: policy, library: library)
        // The first reading makes the index.
        for _ in 0..<2 {
            let outcome = outcome(of: source, pieceByteCount: 200_000)
            #expect(outcome.isWhole && outcome.bytes == Self.bytes, "\(name)")
        }
        let other = GzipSource(file, format: .gzip, index: policy, library: library)
        for _ in 0..<10 {
            let offset = Int.random(in: 0..<Self.bytes.count)
            let found = try other.open(at: Int64(offset)).bytes(atMost: 70_000)
            #expect(found == Array(Self.bytes.dropFirst(offset).prefix(70_000)), "\(name) at \(offset)")
        }
    }

    private static func path(of tool: String) -> String? {
        ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { "\($0)/\(tool)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// A gzip by zlib.
    ///
    /// - Parameter flush: What is asked for behind every piece but the last; at places that differ from run to run when
    ///   the size of pieces is left out.
    private static func encoded(
        _ bytes: Data, level: CInt = 6, strategy: CInt = Z_DEFAULT_STRATEGY, flush: CInt? = nil,
        pieceByteCount: Int? = nil
    ) -> Data {
        var stream = z_stream()
        deflateInit2_(
            &stream, level, Z_DEFLATED, 15 + 16, 8, strategy, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        let input = Array(bytes)
        var output = [UInt8](repeating: 0, count: input.count * 2 + 100_000)
        let count = output.withUnsafeMutableBufferPointer { output in
            input.withUnsafeBufferPointer { input in
                (stream.next_out, stream.avail_out) = (output.baseAddress, uInt(output.count))
                var start = 0
                while let flush, start < input.count {
                    let size = min(pieceByteCount ?? Int.random(in: 1...20_000), input.count - start)
                    (stream.next_in, stream.avail_in) = (input.baseAddress?.advanced(by: start), uInt(size))
                    deflate(&stream, flush)
                    start += size
                }
                if flush == nil { (stream.next_in, stream.avail_in) = (input.baseAddress, uInt(input.count)) }
                deflate(&stream, Z_FINISH)
                return output.count - Int(stream.avail_out)
            }
        }
        return Data(output.prefix(count))
    }
}
