import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct LayerTests {
    /// The sum of the bytes: enough to tell right from wrong.
    private struct Sum: BlobDigest {
        struct Hasher: BlobHasher {
            var sum: UInt8 = 0
            mutating func update(_ bytes: UnsafeRawBufferPointer) { self.sum = bytes.reduce(self.sum) { $0 &+ $1 } }
            mutating func finalize() -> [UInt8] { [self.sum] }
        }

        var name: String { "sum" }
        func makeHasher() -> any BlobHasher { Hasher() }
    }

    private let bytes = Data(1...10)  // Their sum is 55.

    private func bases() throws -> [any BlobInputStreamDataSource] {
        let pipe = BlobPipe()
        _ = try bytes.withUnsafeBytes { try pipe.tryWrite($0) }
        pipe.finish()
        return [MemorySource(bytes), pipe.source, InputStreamSource { [bytes] in InputStream(data: bytes) }]
    }

    private func readAll(_ source: any BlobInputStreamDataSource, at offset: Int64 = 0) async throws -> Data {
        var all = Data()
        for try await chunk in source.chunks(ofAtMost: 3, at: offset) { all += chunk }
        return all
    }

    /// Also one whose reader turns out never to block, and is read in place when it is to be read ahead.
    @Test func anErrorNamesEachLayerInBothModes() async throws {
        let failed = BlobReaderState(isOpenCompleted: true, error: BlobError(.io, "No."))
        let base = SequentialSource(info: BlobInfo(), traits: .repeatable) { _ in
            .stream(PlayedStream(failed), startingAt: 0)
        }
        let source = base.counting { _, _, _ in }
        let synchronous = try #require(throws: BlobError.self) { try source.data(upTo: 10) }
        #expect(synchronous.layers == ["CountingSource", "SequentialSource"])
        let asynchronous = try await #require(throws: BlobError.self) { try await source.data(upTo: 10) }
        #expect(asynchronous.layers == synchronous.layers)
    }

    @Test func countingTellsEachReadAndTheContext() async throws {
        for base in try self.bases() {
            let (counts, events) = (Recorder<Int>(), Recorder<BlobEvent>())
            let ends = Recorder<Int64>()
            let source = base.counting { count, end, _ in
                counts.append(count)
                ends.append(end)
            }
            var all = Data()
            let context = BlobContext(eventSink: { events.append($0) })
            for try await chunk in source.chunks(ofAtMost: 3, at: 2, context: context) { all += chunk }
            #expect(all == bytes[2...])
            #expect(counts.values.reduce(0, +) == 8)
            #expect(counts.values.allSatisfy { $0 > 0 })
            #expect(ends.values.last == 10)
            #expect(events.values == counts.values.map { BlobEvent(.bytes, Int64($0)) })
        }
    }

    @Test func aRightDigestIsToldBeforeTheEnd() async throws {
        for base in try self.bases() {
            let found = Recorder<[UInt8]>()
            let source = base.hashing(with: Sum(), expected: [55]) { found.append($0) }
            #expect(try await self.readAll(source) == bytes)
            #expect(found.values == [[55]])
        }
    }

    @Test func aWrongDigestIsThrownInsteadOfTheEnd() async throws {
        for base in try self.bases() {
            let source = base.hashing(with: Sum(), expected: [54])
            var all = Data()
            let error = await #expect(throws: BlobError.self) {
                for try await chunk in source.chunks(ofAtMost: 3) { all += chunk }
            }
            #expect(all == bytes)
            #expect(error?.code == .checksumMismatch)
            #expect(error?.message.contains("37") == true && error?.message.contains("36") == true)
            #expect(error?.layers.first == "DigestSource")
        }
    }

    @Test(arguments: [1, 5, 10] as [Int64]) func anOffsetChecksTheWholeBlobAllTheSame(offset: Int64) async throws {
        for base in try self.bases() {
            let source = base.hashing(with: Sum(), expected: [54])
            #expect(await asyncCodeThrown { try await self.readAll(source, at: offset) } == .checksumMismatch)
        }
        for base in try self.bases() {
            let source = base.hashing(with: Sum(), expected: [55])
            #expect(try await self.readAll(source, at: offset) == bytes[Int(offset)...])
            #expect(try !source.info().isRandomAccess)
        }
        #expect(
            await asyncCodeThrown { try await self.readAll(MemorySource(bytes).hashing(with: Sum()), at: 11) }
                == .invalidArgument)
    }

    @Test func theDigestOfNothingIsCheckedToo() async throws {
        let source = MemorySource([]).hashing(with: Sum(), expected: [1])
        #expect(await asyncCodeThrown { try await self.readAll(source) } == .checksumMismatch)
        #expect(try await self.readAll(MemorySource([]).hashing(with: Sum(), expected: [0])).isEmpty)
    }

    @Test func anErrorOfTheBaseIsNoMismatch() async throws {
        let failing = ClosureSource { offset, output, _ in
            guard offset == 0 else { throw BlobError(.refused, "No.") }
            output.append(1)
        }
        #expect(
            await asyncCodeThrown { try await self.readAll(failing.hashing(with: Sum(), expected: [1])) }
                == .refused)
    }
}
