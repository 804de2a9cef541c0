import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite struct ClosureSourceTests {
    private let bytes = Data(0..<100)

    private func source(byteCount: Int64?) -> ClosureSource {
        ClosureSource(info: BlobInfo(byteCount: byteCount)) { [bytes] offset, output, _ in
            // Seven at most, so that reads are short; nothing at the end and past it.
            for byte in bytes.dropFirst(Int(offset)).prefix(min(7, output.freeCapacity)) { output.append(byte) }
        }
    }

    private func readAll(_ reader: BlobReader) throws -> Data {
        try Data(BlobTestSupport.readAll(reader, inPiecesOf: 10))
    }

    @Test(arguments: [100, nil] as [Int64?], [0, 1, 50, 99, 100]) func theBytesFromAnOffset(
        byteCount: Int64?, offset: Int
    ) throws {
        let reader = try self.source(byteCount: byteCount).open(at: Int64(offset))
        #expect(try self.readAll(reader) == bytes.dropFirst(offset))
        #expect(try self.readAll(reader).isEmpty)
    }

    @Test func anOffsetPastAKnownEndDoesNotOpen() {
        #expect(codeThrown { try self.source(byteCount: 100).open(at: 101) } == .invalidArgument)
    }

    @Test func anOffsetPastAnUnknownEndFailsAtTheFirstRead() throws {
        let reader = try self.source(byteCount: nil).open(at: 101)
        #expect(codeThrown { try self.readAll(reader) } == .invalidArgument)
    }

    @Test func anEndBeforeTheByteCountIsMisbehaviour() throws {
        let reader = try self.source(byteCount: 101).open()
        #expect(codeThrown { try self.readAll(reader) } == .misbehavingPlugin)
    }

    @Test func bytesPastTheByteCountAreNotAskedFor() throws {
        #expect(try self.readAll(self.source(byteCount: 93).open()) == bytes.prefix(93))
    }

    @Test func theClosureGetsTheContext() throws {
        let context = BlobContext(idleLimit: .seconds(42))
        let seen = Recorder<Duration?>()
        let source = ClosureSource { _, _, context in seen.append(context.idleLimit) }
        _ = try self.readAll(source.open(context: context))
        #expect(seen.values == [.seconds(42)])
    }

    @Test func anErrorIsThrownAgain() throws {
        let calls = Recorder<Bool>()
        let reader = try ClosureSource { _, _, _ in
            calls.append(true)
            throw BlobError(.refused, "No.")
        }.open()
        for _ in 0..<2 { #expect(codeThrown { try self.readAll(reader) } == .refused) }
        #expect(calls.values.count == 1)
    }
}
