import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite(.timeLimit(.minutes(10))) struct SliceSourceTests {
    private let bytes = Data(0..<10)

    private func unknown() -> ClosureSource {
        ClosureSource { [bytes] offset, output, _ in
            for byte in bytes.dropFirst(Int(offset)).prefix(output.freeCapacity) { output.append(byte) }
        }
    }

    private func pipe() throws -> any BlobInputStreamDataSource {
        let pipe = BlobPipe()
        _ = try bytes.withUnsafeBytes { try pipe.tryWrite($0) }
        pipe.finish()
        return pipe.source
    }

    private func readAll(_ source: any BlobInputStreamDataSource, at offset: Int64 = 0) async throws -> Data {
        var all = Data()
        for try await chunk in source.chunks(ofAtMost: 3, at: offset) { all += chunk }
        return all
    }

    /// A server chooses its tags.
    @Test func partsOfAValidatorAreNotTakenForOthers() {
        let (one, two) = (BlobValidator.strong("a,8:strong:b"), [BlobValidator.strong("a"), .strong("b")])
        #expect(BlobValidator.combined("both", [one]) != .combined("both", two))
        #expect(BlobValidator.combined("both", [.strong("a,strong:b")]) != .combined("both", two))
    }

    @Test(arguments: [0..<10, 0..<0, 3..<7, 3..<3, 9..<10, 10..<10] as [Range<Int64>])
    func aSliceHasTheBytesOfItsRange(range: Range<Int64>) async throws {
        for base in [MemorySource(bytes), self.unknown(), try self.pipe()] as [any BlobInputStreamDataSource] {
            let slice = base.slice(range)
            #expect(try slice.info().byteCount == Int64(range.count))
            #expect(try await self.readAll(slice) == bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        }
    }

    /// An event-driven source that must not be asked for its info, as that of a web source blocks.
    private struct LateSource: BlobInputStreamDataSource {
        let base: DripSource
        var traits: BlobTraits { self.base.traits }
        func describe(_ context: BlobContext) throws -> BlobInfo {
            Issue.record("The info was asked for.")
            return try self.base.describe(context)
        }
        func makeBody(_ opening: BlobOpening) throws -> BlobBody { self.base.makeBody(opening) }
    }

    @Test(arguments: [0..<10, 0..<0, 3..<7, 3..<3, 9..<10, 10..<10] as [Range<Int64>])
    func aSliceOfABaseThatOpensLateDoesNotWaitForIt(range: Range<Int64>) async throws {
        let memory = MemorySource(bytes)
        let base = LateSource(base: DripSource(memory, pieceByteCount: 2))
        let expected = self.bytes[Int(range.lowerBound)..<Int(range.upperBound)]
        let slice = base.slice(range)
        let reader = try slice.open()
        #expect(try self.rest(of: reader) == expected)
        #expect(reader.isOpen)
        #expect(reader.info.byteCount == Int64(range.count))
        let validator = try #require(memory.slice(range).info().validator)
        #expect(reader.info.validator == validator)
        #expect(try await self.readAll(slice, at: Int64(range.count)) == Data())
        // When the base is open at once, the opening throws.
        let other = BlobValidator.combined("other", [validator])
        #expect(codeThrown { try self.rest(of: slice.open(matching: other)) } == .changed)
    }

    @Test(arguments: [0..<11, 5..<20] as [Range<Int64>])
    func aRangePastTheEndOfABaseThatOpensLateIsRefusedByTheFirstRead(range: Range<Int64>) {
        let base = LateSource(base: DripSource(MemorySource(bytes)))
        #expect(codeThrown { try self.rest(of: base.slice(range).open()) } == .invalidArgument)
    }

    private func rest(of reader: BlobReader) throws -> Data {
        try Data(BlobTestSupport.readAll(reader, inPiecesOf: 4))
    }

    @Test(arguments: [0, 4, 10] as [Int64]) func aSliceWithoutAnEndGoesOn(start: Int64) async throws {
        for base in [MemorySource(bytes), self.unknown(), try self.pipe()] as [any BlobInputStreamDataSource] {
            #expect(try await self.readAll(base.slice(start...)) == bytes[Int(start)...])
        }
        #expect(try MemorySource(bytes).slice(start...).info().byteCount == 10 - start)
        #expect(try self.unknown().slice(start...).info().byteCount == nil)
    }

    @Test(arguments: [.min..<1, .min ..< .max, -1..<1, -1..<(-1)] as [Range<Int64>])
    func aRangeThatBeginsBeforeTheFirstByteIsRefused(range: Range<Int64>) {
        for slice in [
            MemorySource(bytes).slice(range), MemorySource(bytes).slice(range.lowerBound...),
            self.unknown().slice(range),
        ] as [any BlobInputStreamDataSource] {
            #expect(codeThrown { try slice.info() } == .invalidArgument)
            for offset: Int64 in [0, 1, .max] {
                #expect(codeThrown { try slice.open(at: offset) } == .invalidArgument)
            }
        }
    }

    @Test func aSliceOpensAtAnOffset() async throws {
        for base in [MemorySource(bytes), self.unknown()] as [any BlobInputStreamDataSource] {
            let slice = base.slice(2..<8)
            for offset: Int64 in 0...6 {
                #expect(try await self.readAll(slice, at: offset) == bytes[(2 + Int(offset))..<8])
            }
            #expect(codeThrown { try slice.open(at: 7) } == .invalidArgument)
            #expect(codeThrown { try slice.open(at: -1) } == .invalidArgument)
            #expect(codeThrown { try slice.open(at: .max) } == .invalidArgument)
            #expect(codeThrown { try base.slice(2...).open(at: .max) } == .invalidArgument)
        }
    }

    @Test func aRangeThatIsNotThereIsInvalid() {
        for slice in [
            MemorySource(bytes).slice(5..<11), MemorySource(bytes).slice(11..<12),
            MemorySource(bytes).slice(-1..<3), MemorySource(bytes).slice(11...),
            MemorySource(bytes).slice((-1)...),
        ] as [any BlobInputStreamDataSource] {
            #expect(codeThrown { try slice.info() } == .invalidArgument)
            #expect(codeThrown { try slice.open() } == .invalidArgument)
        }
    }

    @Test func aBaseThatEndsBeforeTheRangeIsTruncated() async throws {
        for base in [self.unknown(), try self.pipe()] as [any BlobInputStreamDataSource] {
            let error = await #expect(throws: BlobError.self) {
                try await self.readAll(base.slice(5..<11))
            }
            #expect(error?.code == .truncated)
        }
    }

    @Test func theValidatorTellsRangesApart() throws {
        let base = MemorySource(bytes)
        let validator = try #require(base.slice(1..<3).info().validator)
        #expect(try base.slice(1..<3).info().validator == validator)
        #expect(try base.slice(1..<4).info().validator != validator)
        #expect(codeThrown { try base.slice(1..<4).open(matching: validator) } == .changed)
    }

    @Test func theEndOfASliceOfAPipeNeedsNoEndOfThePipe() async throws {
        let pipe = BlobPipe()
        try await pipe.write(bytes)
        #expect(try await self.readAll(pipe.source.slice(2..<6)) == bytes[2..<6])
        pipe.finish()
    }
}
