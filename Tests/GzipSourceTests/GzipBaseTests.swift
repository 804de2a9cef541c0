import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

/// Each format over a base that never blocks, one that blocks, and one that is not open yet and says `notYet` in
/// between.
@Suite struct GzipBaseTests {
    @Test(arguments: GzipSource.Format.allCases, [0, 1, 65, 5000])
    func everyFormatKeepsEveryContractOverEveryKindOfBase(_ format: GzipSource.Format, length: Int) async {
        let bytes = sampleBytes(length)
        for base in bases(of: compressed(bytes, format)) {
            expectNone(await violations(of: GzipSource(base, format: format), expecting: bytes), base)
        }
    }

    /// Past the second block, so that several are decoded at once where that is done.
    @Test func blocksKeepEveryContractOverEveryKindOfBase() async {
        let bytes = sampleBytes(150_000)
        for base in bases(of: blocked(bytes)) {
            expectNone(await violations(of: GzipSource(base), expecting: bytes), base)
        }
    }

    @Test(arguments: GzipSource.Format.allCases)
    func aBaseThatIsNotOpenYetIsOpenedOver(_ format: GzipSource.Format) async throws {
        let bytes = sampleBytes(5000)
        let reader = try GzipSource(DripSource(MemorySource(compressed(bytes, format))), format: format).open()
        let shared = UnsafeTransfer(reader)  // Safe: this task waits while the thread reads.
        let all = try await onThread { try readAll(shared.value, inPiecesOf: 100) }
        #expect(Data(all) == bytes)
        #expect(reader.isOpen && reader.hasEnded)
    }

    private func bases(of file: Data) -> [any BlobInputStreamDataSource] {
        let memory = MemorySource(file)
        return [
            memory, FaultSource(memory, .half), DripSource(memory, pieceByteCount: max(1, file.count / 7)),
            DripSource(memory, pieceByteCount: 1 << 20), ReadAheadSource(FaultSource(memory, .half)),
        ]
    }

    private func expectNone(_ violations: [BlobViolation], _ base: any BlobInputStreamDataSource) {
        #expect(violations.isEmpty, "\(violations.map(\.description).joined(separator: "; ")), over \(type(of: base))")
    }
}
