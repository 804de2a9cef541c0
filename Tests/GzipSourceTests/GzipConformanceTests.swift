import BlobDeflate
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// The conformance kit over every kind of base.
@Suite struct GzipConformanceTests {
    static let lengths = [0, 1, 65, 5000, 200_000]

    @Test(arguments: GzipSource.Format.allCases, lengths)
    func everyFormatKeepsEveryContractOverMemory(_ format: GzipSource.Format, length: Int) async {
        let bytes = sampleBytes(length)
        let file = compressed(bytes, format)
        expectNone(await violations(of: GzipSource(MemorySource(file), format: format), expecting: bytes))
    }

    @Test(arguments: GzipSource.Format.allCases, lengths)
    func everyFormatKeepsEveryContractWithZlibAlone(_ format: GzipSource.Format, length: Int) async {
        let bytes = sampleBytes(length)
        let file = compressed(bytes, format)
        expectNone(
            await violations(
                of: GzipSource(
                    FaultSource(MemorySource(file), .half), format: format, index: .none, library: .zlib),
                expecting: bytes))
    }

    @Test(arguments: GzipSource.Format.allCases, InflateLibrary.available)
    func everyFormatKeepsEveryContractWithAnIndex(_ format: GzipSource.Format, library: InflateLibrary) async throws {
        for length in Self.lengths + [1_500_000] {
            let folder = try TemporaryFolder()
            let bytes = sampleBytes(min(length, 200_000)) + Data(count: max(0, length - 200_000))
            let file = try folder.file("data", compressed(bytes, format))
            let make = { @Sendable in
                GzipSource(file, format: format, index: .file(folder.path("index")), library: library)
            }
            #expect(try make().buildIndex(BlobContext()))
            #expect(try make().info(BlobContext()).byteCount == Int64(length))
            expectNone(await violations(of: make(), expecting: bytes))
        }
    }

    @Test(arguments: lengths) func gzipKeepsEveryContractOverAFile(length: Int) async throws {
        let bytes = sampleBytes(length)
        let path = NSTemporaryDirectory() + "/blobstreams-\(UUID().uuidString).gz"
        try gzipped(bytes).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        expectNone(await violations(of: GzipSource(FileSource(path: path)), expecting: bytes))
    }

    @Test(arguments: GzipSource.Format.allCases, [FaultSource.Fault.oneByte, .half])
    func readsThatBringLittleAreInvisible(_ format: GzipSource.Format, _ fault: FaultSource.Fault) async {
        let bytes = sampleBytes(3000)
        let file = compressed(bytes, format)
        expectNone(
            await violations(of: GzipSource(FaultSource(MemorySource(file), fault), format: format), expecting: bytes))
    }

    @Test(arguments: lengths) func gzipKeepsEveryContractOverGzip(length: Int) async {
        let bytes = sampleBytes(length)
        let file = gzipped(gzipped(bytes))
        expectNone(await violations(of: GzipSource(GzipSource(MemorySource(file))), expecting: bytes))
        let mixed = zlibbed(gzipped(deflated(bytes)))
        expectNone(
            await violations(
                of: GzipSource(GzipSource(GzipSource(MemorySource(mixed), format: .zlib)), format: .deflate),
                expecting: bytes))
    }

    @Test(arguments: GzipSource.Format.allCases, lengths)
    func everyFormatKeepsEveryContractOverAnEventDrivenBase(_ format: GzipSource.Format, length: Int) async {
        let bytes = sampleBytes(length)
        let file = compressed(bytes, format)
        expectNone(
            await violations(of: GzipSource(MemorySource(file).readingAhead(), format: format), expecting: bytes))
    }

    @Test func gzipOverGzipOverAnEventDrivenBaseKeepsEveryContract() async {
        let bytes = sampleBytes(20_000)
        let file = gzipped(gzipped(bytes) + gzipped(bytes))
        expectNone(
            await violations(
                of: GzipSource(GzipSource(FaultSource(MemorySource(file), .half).readingAhead())),
                expecting: bytes + bytes))
    }

    @Test func gzipKeepsEveryContractOverWhatPassesByOnce() async {
        let bytes = sampleBytes(5000)
        let file = gzipped(bytes)
        expectNone(await violations(of: GzipSource(pipeSource(file)), expecting: bytes))
    }

    @Test func manyMembersKeepEveryContract() async {
        let bytes = sampleBytes(3000)
        let file = (0..<100).reduce(Data()) { $0 + gzipped(bytes[($1 * 30)..<($1 * 30 + 30)]) + gzipped(Data()) }
        expectNone(await violations(of: GzipSource(MemorySource(file)), expecting: bytes))
        expectNone(await violations(of: GzipSource(MemorySource(file).readingAhead()), expecting: bytes))
    }
}

private func expectNone(_ violations: [BlobViolation], sourceLocation: SourceLocation = #_sourceLocation) {
    let list = violations.map(\.description).joined(separator: "; ")
    #expect(violations.isEmpty, "\(list)", sourceLocation: sourceLocation)
}
