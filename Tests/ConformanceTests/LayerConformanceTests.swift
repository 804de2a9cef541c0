import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import CryptoDigest
import Foundation
import GzipSource
import Testing

/// Every source that stands on another one against the conformance kit, over each kind of base.
@Suite struct LayerConformanceTests {
    @Test(arguments: LayerMaker.all, BaseKind.allCases)
    func everyLayerKeepsEveryContractOverEveryKindOfBase(_ layer: LayerMaker, _ kind: BaseKind) async throws {
        for length in [0, 1, 65, 3000] {
            let bytes = Data(makeContent(length))
            let make: @Sendable () throws -> any BlobInputStreamDataSource = { try layer.make(bytes, kind.source) }
            let expected = try await layer.expected(bytes)
            expectNone(await violations(of: try make(), expecting: expected), "of \(length) bytes")
        }
    }

    /// The error of a base that fails while its facts are awaited comes, too.
    @Test(arguments: LayerMaker.all, BaseKind.allCases)
    func anOffsetPastTheEndIsRefused(_ layer: LayerMaker, _ kind: BaseKind) async throws {
        for (length, past) in [(0, 1), (1, 1000), (3000, 1)] {
            let bytes = Data(makeContent(length))
            let offset = Int64(try await layer.expected(bytes).count + past)
            let code = try await onThread {
                codeThrown {
                    let context = BlobContext(idleLimit: .seconds(30))  // So that the test ends in any case.
                    _ = try readAll(try layer.make(bytes, kind.source).open(at: offset, context: context))
                }
            }
            #expect(code == .invalidArgument, "of \(length) bytes")
        }
    }

    /// A base that opens late, and has nothing for some reads after that.
    @Test(arguments: LayerMaker.all)
    func aLayerOpensOverABaseThatIsNotOpenYet(_ layer: LayerMaker) async throws {
        let bytes = Data(makeContent(3000))
        let expected = try await layer.expected(bytes)
        let all = try await onThread {
            let reader = try layer.make(bytes) { DripSource(MemorySource($0), pieceByteCount: 500) }.open()
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
            defer { memory.deallocate() }
            var all = Data()
            while case let count = try reader.readBlocking(into: memory), count > 0 {
                #expect(reader.isOpen)
                all.append(contentsOf: memory[..<count])
            }
            return all
        }
        #expect(all == expected)
    }

    @Test(arguments: LayerMaker.all)
    func everyLayerPassesOnErrorsAndWaitsForNoFacts(_ layer: LayerMaker) async throws {
        let bytes = Data(makeContent(3000))
        expectNone(
            try await onThread {
                try violations(ofLayer: { base in try layer.make(bytes) { base(MemorySource($0)) } })
            })
    }
}

/// The behaviour of a base that has nothing to give.
enum BaseKind: CaseIterable, Sendable {
    case neverBlocks, refines, blocks, saysNotYet, isReadAhead

    @Sendable func source(_ bytes: Data) -> any BlobInputStreamDataSource {
        let memory = MemorySource(bytes)
        return switch self {
        case .neverBlocks: memory
        case .refines: RefiningSource(base: memory)
        case .blocks: FaultSource(memory, .half)
        case .saysNotYet: DripSource(memory, pieceByteCount: 100)
        case .isReadAhead: ReadAheadSource(FaultSource(memory, .half), windowByteCounts: 64...256)
        }
    }
}

/// A way to make a source of given bytes that stands on others.
struct LayerMaker: Sendable, CustomTestStringConvertible {
    typealias Base = @Sendable (Data) -> any BlobInputStreamDataSource

    let testDescription: String
    let make: @Sendable (Data, Base) throws -> any BlobInputStreamDataSource
    var expected: @Sendable (Data) async throws -> Data = { $0 }

    /// Those that leave their bytes as they are, or put them together.
    static let plain: [LayerMaker] = [
        LayerMaker(testDescription: "concatenation") { bytes, base in
            ConcatenatedSource(bytes.inParts(3).map(base) + [base(Data())])
        },
        LayerMaker(testDescription: "concatenation beside memory") { bytes, base in
            let parts = bytes.inParts(3)
            return ConcatenatedSource([MemorySource(parts[0]), base(parts[1]), MemorySource(parts[2])])
        },
        LayerMaker(testDescription: "slice") { bytes, base in
            base(Data(makeContent(9)) + bytes + Data(makeContent(5))).slice(9..<Int64(9 + bytes.count))
        },
        LayerMaker(testDescription: "slice to the end") { bytes, base in
            base(Data(makeContent(9)) + bytes).slice(9...)
        },
        LayerMaker(testDescription: "lines that begin in a range") { bytes, base in
            LineRangeSource(base(Data("before\nas\n".utf8) + bytes), beginningIn: 8..<Int64.max)
        },
        LayerMaker(testDescription: "counting") { bytes, base in base(bytes).counting { _, _, _ in } },
        LayerMaker(testDescription: "progress") { bytes, base in
            base(bytes).reporting(to: Progress(totalUnitCount: 0))
        },
        LayerMaker(testDescription: "limits of time") { bytes, base in
            base(bytes).layered {
                $0.idleLimit = .seconds(300)
                $0.timeLimit = .seconds(300)
            }
        },
        LayerMaker(testDescription: "retry") { bytes, base in base(bytes).layered { $0.retry = .impatient } },
        LayerMaker(testDescription: "retry of what fails") { bytes, base in
            FlakySource(base(bytes), failingAfter: 150).layered { $0.retry = .impatient }
        },
        LayerMaker(testDescription: "limit of bytes") { bytes, base in
            base(bytes).layered { $0.maximumByteCount = Int64(bytes.count) }
        },
        LayerMaker(testDescription: "throttle") { bytes, base in
            base(bytes).layered { $0.bytesPerSecond = 100_000 }
        },
        LayerMaker(testDescription: "all layers") { bytes, base in
            FlakySource(base(bytes), failingAfter: 1000).layered {
                $0.digest = (CryptoDigest.sha256, nil)
                $0.onBytes = { _, _, _ in }
                $0.bytesPerSecond = 1 << 20
                $0.maximumByteCount = 1 << 20
                $0.readsAhead = true
                $0.retry = .impatient
                $0.idleLimit = .seconds(300)
            }
        },
        LayerMaker(testDescription: "digest") { bytes, base in
            base(bytes).hashing(with: CryptoDigest.sha256)
        },
    ]

    static let all = plain + ahead

    /// Those that read ahead, or decode.
    private static let ahead: [LayerMaker] = [
        LayerMaker(testDescription: "read-ahead") { bytes, base in ReadAheadSource(base(bytes)) },
        LayerMaker(testDescription: "read-ahead by bytes") { bytes, base in
            ReadAheadSource(base(bytes), windowByteCounts: 1...7)
        },
        LayerMaker(testDescription: "gzip") { bytes, base in GzipSource(base(try gzipped(bytes))) },
        LayerMaker(testDescription: "members of gzip") { bytes, base in
            GzipSource(base(try bytes.inParts(5).map(gzipped).reduce(Data(), +)))
        },
        LayerMaker(testDescription: "gzip, encoded", make: { bytes, base in GzipEncodedSource(base(bytes)) }) {
            try await GzipEncodedSource(MemorySource($0)).data(upTo: 1 << 20)
        },
        LayerMaker(testDescription: "several layers") { bytes, base in
            let slice = base(try gzipped(Data(makeContent(3)) + bytes) + Data([1])).slice(
                0..<Int64(try gzipped(Data(makeContent(3)) + bytes).count))
            let decoded = GzipSource(slice).counting { _, _, _ in }
            return decoded.slice(3...).hashing(with: CryptoDigest.sha256)
        },
        LayerMaker(testDescription: "stream, read by a source") { bytes, base in
            let source = base(bytes)
            return InputStreamSource { BlobInputStream(source) }
        },
        LayerMaker(testDescription: "asynchronous stream, read by a source") { bytes, base in
            let source = base(bytes)
            return InputStreamSource { BlobInputStream(source, mode: .asynchronous) }
        },
        LayerMaker(testDescription: "chunks, read by a source") { bytes, base in
            let source = base(bytes)
            return AsyncSequenceSource(isRepeatable: true, chunks: { source.chunks(ofAtMost: 600) })
        },
    ]
}

/// One member of gzip.
private func gzipped(_ bytes: Data) throws -> Data {
    Data(try readAll(GzipEncodedSource(MemorySource(bytes)).open()))
}
