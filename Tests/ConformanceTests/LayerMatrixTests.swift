import BlobStreams
import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

/// Every layer around every built-in source, blocking and event-driven, against the conformance kit.
@Suite struct LayerMatrixTests {
    @Test(arguments: SourceMaker.origins + SourceMaker.packed + SourceMaker.assets, LayerChoice.all)
    func everyLayerKeepsEveryContractAroundEverySource(_ maker: SourceMaker, _ layers: LayerChoice) async throws {
        let folder = try TemporaryFolder()
        for length in [0, 3000] {
            let bytes = Data(makeContent(length))
            let make: @Sendable () throws -> any BlobInputStreamDataSource = { try maker.make(bytes, folder) }
            expectNone(await violations(of: layers.around(try make()), expecting: bytes), "of \(length) bytes")
            expectNone(
                await violations(of: layers.around(try make().readingAhead()), expecting: bytes),
                "of \(length) bytes, event-driven")
        }
    }
}

/// A choice of layers.
struct LayerChoice: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The number of bytes after which each reader of the base fails; nil for never.
    var failingAfter: Int?
    let choose: @Sendable (inout BlobLayers) -> Void

    func around(_ source: any BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        // What is read once cannot be tried again.
        guard let failingAfter, source.traits.contains(.repeatable) else { return source.layered(self.choose) }
        return FlakySource(source, failingAfter: failingAfter).layered(self.choose)
    }

    static let all = [
        LayerChoice(testDescription: "limits") {
            $0.idleLimit = .seconds(300)
            $0.timeLimit = .seconds(300)
            $0.ratioLimit = 1000
        },
        LayerChoice(testDescription: "retry of what fails", failingAfter: 1000) {
            $0.retry = .impatient
            $0.retry?.identity = .unchecked
        },
        LayerChoice(testDescription: "read-ahead") { $0.readsAhead = true },
        LayerChoice(testDescription: "limit of bytes") { $0.maximumByteCount = 3000 },
        LayerChoice(testDescription: "throttle") { $0.bytesPerSecond = 1 << 20 },
        LayerChoice(testDescription: "count and digest") {
            $0.onBytes = { _, _, _ in }
            $0.digest = (CryptoDigest.sha256, nil)
        },
        LayerChoice(testDescription: "all", failingAfter: 1000) {
            $0.idleLimit = .seconds(300)
            $0.retry = .impatient
            $0.retry?.identity = .unchecked
            $0.readsAhead = true
            $0.maximumByteCount = 3000
            $0.bytesPerSecond = 1 << 20
            $0.onBytes = { _, _, _ in }
            $0.digest = (CryptoDigest.sha256, nil)
        },
    ]
}

extension SourceMaker {
    /// Sources of decoded bytes, and compositions.
    static let packed: [SourceMaker] =
        RandomContent.Form.allCases.map { form in
            SourceMaker(testDescription: "\(form)") { bytes, _ in
                let packed = try RandomContent(bytes).packed(form)
                return try RandomContent.unpacked(form, MemorySource(packed), BlobContext())
            }
        } + [
            SourceMaker(testDescription: "concatenation of files") { bytes, folder in
                ConcatenatedSource(try bytes.inParts(3).map { FileSource(path: try folder.file($0)) })
            },
            SourceMaker(testDescription: "slice of a file") { bytes, folder in
                FileSource(path: try folder.file(Data(makeContent(9)) + bytes)).slice(9...)
            },
            SourceMaker(testDescription: "gzip in a zip") { bytes, _ in
                let member = try RandomContent(RandomContent(bytes).packed(.gzip)).packed(.storedMember)
                return GzipSource(try RandomContent.unpacked(.storedMember, MemorySource(member), BlobContext()))
            },
        ]
}
