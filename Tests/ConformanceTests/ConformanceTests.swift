import BlobStreams
import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import CryptoDigest
import FileSource
import Foundation
import GzipSource
import Testing

/// Every built-in source, plain and event-driven, against the conformance kit.
@Suite struct ConformanceTests {
    static let lengths = [0, 1, 2, 63, 64, 65, 5000, 70_000]

    @Test(arguments: SourceMaker.all, lengths)
    func everySourceKeepsEveryContract(_ maker: SourceMaker, length: Int) async throws {
        let bytes = Data(makeContent(length))
        let folder = try TemporaryFolder()
        expectNone(await violations(of: try maker.make(bytes, folder), expecting: bytes))
    }

    @Test(arguments: SourceMaker.all, [0, 1, 65, 70_000])
    func everySourceKeepsEveryContractWhenItIsMadeEventDriven(_ maker: SourceMaker, length: Int) async throws {
        let bytes = Data(makeContent(length))
        let folder = try TemporaryFolder()
        expectNone(await violations(of: try maker.make(bytes, folder).readingAhead(), expecting: bytes))
    }

    /// Parts of different kinds beside each other; each layer over one kind of base: `LayerConformanceTests`.
    @Test(arguments: [0, 1, 65, 5000])
    func partsOfDifferentKindsKeepEveryContract(length: Int) async {
        let bytes = Data(makeContent(length))
        let parts = bytes.inParts(3)
        let drip: @Sendable (Data) -> any BlobInputStreamDataSource = { DripSource(MemorySource($0)) }
        expectNone(
            await violations(
                of: ConcatenatedSource([drip(parts[0]), MemorySource(parts[1]), pipeSource(parts[2])]),
                expecting: bytes))
        expectNone(
            await violations(
                of: ConcatenatedSource([MemorySource(parts[0]), pipeSource(parts[1]), drip(parts[2])]),
                expecting: bytes))
        let longer = Data(makeContent(7)) + bytes + Data(makeContent(9))
        expectNone(await violations(of: drip(longer).slice(7...), expecting: longer.dropFirst(7)))
    }

    @Test(arguments: [0, 1, 65, 5000, 70_000])
    func encodingKeepsEveryContract(length: Int) async throws {
        let bytes = Data(makeContent(length))
        let encoded = try await GzipEncodedSource(MemorySource(bytes)).data(upTo: 1 << 20)
        for base: any BlobInputStreamDataSource in [
            MemorySource(bytes), FaultSource(MemorySource(bytes), .half), MemorySource(bytes).readingAhead(),
        ] { expectNone(await violations(of: GzipEncodedSource(base), expecting: encoded)) }
        expectNone(await violations(of: GzipEncodedSource(pipeSource(bytes)), expecting: encoded))
    }

    @Test(arguments: [FaultSource.Fault.oneByte, .half])
    func readsThatBringLittleAreInvisible(_ fault: FaultSource.Fault) async {
        let bytes = Data(makeContent(3000))
        let difficult = { @Sendable in FaultSource(MemorySource(bytes), fault) }
        expectNone(await violations(of: difficult(), expecting: bytes))
        expectNone(await violations(of: ConcatenatedSource([difficult(), difficult()]), expecting: bytes + bytes))
        expectNone(await violations(of: difficult().slice(10..<2000), expecting: bytes[10..<2000]))
        expectNone(await violations(of: difficult().hashing(with: CryptoDigest.sha256), expecting: bytes))
    }

    @Test func aSourceIsCheckedWithoutKnowingItsBytes() throws {
        expectNone(try violations(of: MemorySource(Data(makeContent(10_000)))))
    }
}

func expectNone(
    _ violations: [BlobViolation], _ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    let list = violations.map(\.description).joined(separator: "; ")
    #expect(violations.isEmpty, "\(list) \(comment)", sourceLocation: sourceLocation)
}

/// A way to make a source with given bytes.
struct SourceMaker: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (Data, TemporaryFolder) throws -> any BlobInputStreamDataSource

    static let all: [SourceMaker] = {
        let layers = LayerMaker.plain.map { layer in
            SourceMaker(testDescription: layer.testDescription) { bytes, _ in
                try layer.make(bytes) { MemorySource($0) }
            }
        }
        return origins + layers
    }()

    static let origins: [SourceMaker] = [
        SourceMaker(testDescription: "memory") { bytes, _ in MemorySource(bytes) },
        SourceMaker(testDescription: "data: URL") { bytes, _ in
            try BlobRegistry.standard.source(for: "data:;base64," + bytes.base64EncodedString())
        },
        SourceMaker(testDescription: "file") { bytes, folder in FileSource(path: try folder.file(bytes)) },
        SourceMaker(testDescription: "closure of known length") { bytes, _ in
            ClosureSource(info: BlobInfo(byteCount: Int64(bytes.count)), readAt: reading(bytes))
        },
        SourceMaker(testDescription: "closure of unknown length") { bytes, _ in ClosureSource(readAt: reading(bytes)) },
        SourceMaker(testDescription: "asynchronous chunks") { bytes, _ in
            AsyncSequenceSource(isRepeatable: true, chunks: { stream(of: bytes.inParts(5)) })
        },
        SourceMaker(testDescription: "asynchronous chunks, once, of known length") { bytes, _ in
            AsyncSequenceSource(info: BlobInfo(byteCount: Int64(bytes.count)), chunks: { stream(of: bytes.inParts(5)) })
        },
        SourceMaker(testDescription: "asynchronous bytes") { bytes, _ in
            AsyncSequenceSource(isRepeatable: true, bytes: { stream(of: Array(bytes)) })
        },
        SourceMaker(testDescription: "input streams") { bytes, _ in
            InputStreamSource(info: BlobInfo(byteCount: Int64(bytes.count))) { InputStream(data: bytes) }
        },
        SourceMaker(testDescription: "pipe") { bytes, _ in pipeSource(bytes) },
        SourceMaker(testDescription: "pipe of known length") { bytes, _ in
            pipeSource(bytes, info: BlobInfo(byteCount: Int64(bytes.count)))
        },
        SourceMaker(testDescription: "concatenation of unknown lengths") { bytes, _ in
            ConcatenatedSource(bytes.inParts(3).map { ClosureSource(readAt: reading($0)) })
        },
        SourceMaker(testDescription: "gzip, encoded and decoded") { bytes, _ in
            GzipSource(GzipEncodedSource(MemorySource(bytes)))
        },
        SourceMaker(testDescription: "FIFO") { bytes, folder in FileSource(path: try folder.fifo(bytes)) },
    ]
}

private func reading(
    _ bytes: Data
) -> @Sendable (_ byteOffset: Int64, inout OutputRawSpan, BlobContext) throws -> Void {
    { byteOffset, output, _ in
        guard byteOffset < bytes.count else { return }
        bytes.withUnsafeBytes {
            _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[Int(byteOffset)...]))
        }
    }
}

private func stream<Element: Sendable>(of elements: [Element]) -> AsyncStream<Element> {
    AsyncStream { continuation in
        for element in elements { continuation.yield(element) }
        continuation.finish()
    }
}

extension Data {
    func inParts(_ count: Int) -> [Data] {
        (0..<count).map { self[(self.count * $0 / count)..<(self.count * ($0 + 1) / count)] }.map { Data($0) }
    }
}

extension TemporaryFolder {
    /// Writes a file of its own name, and gives its path.
    func file(_ bytes: Data) throws -> String { try self.write(Array(bytes), to: UUID().uuidString) }

    /// A FIFO that somebody writes `bytes` to.
    func fifo(_ bytes: Data) throws -> String {
        let path = try self.makeFIFO(UUID().uuidString)
        Thread.detachNewThread {
            _ = signal(SIGPIPE, SIG_IGN)
            let descriptor = open(path, O_WRONLY)  // Waits for the reader, or the end of the folder.
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            bytes.withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty {
                    let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
                    guard count > 0 else { return }
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                }
            }
        }
        return path
    }
}
