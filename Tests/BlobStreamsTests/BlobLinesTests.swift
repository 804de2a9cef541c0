import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobLinesTests {
    private func collect(_ lines: BlobSequence<String, BlobError>) async throws -> [String] {
        var all: [String] = []
        for try await line in lines { all.append(line) }
        return all
    }

    @Test(arguments: [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
        ("\n\n", ["", ""]), ("\r\n\r\n", ["", ""]), ("a\rb\n", ["a\rb"]), ("a\r", ["a\r"]), ("\r\r\n", ["\r"]),
        ("ä€😀\nß", ["ä€😀", "ß"]),
    ])
    func aLineEndsWithLineFeedOrBoth(text: String, expected: [String]) async throws {
        #expect(try await self.collect(MemorySource(text.utf8).lines()) == expected)
        // The same, whatever the chunks are.
        #expect(try await self.collect(byteByByte(text.utf8).lines()) == expected)
    }

    @Test func invalidTextIsRepaired() async throws {
        let bytes: [UInt8] = [0x61, 0xff, 0x62, 0x0a, 0xe2, 0x82]
        #expect(try await self.collect(MemorySource(bytes).lines()) == ["a\u{fffd}b", "\u{fffd}"])
    }

    @Test func aLineMayBeAsLongAsTheLimitAndNoLonger() async throws {
        let source = MemorySource("12345\n1234567\n".utf8)
        #expect(try await self.collect(source.lines(ofAtMost: 7)) == ["12345", "1234567"])
        var iterator = source.lines(ofAtMost: 6).makeAsyncIterator()
        #expect(try await iterator.next() == "12345")
        let error = await #expect(throws: BlobError.self) { try await iterator.next() }
        #expect(error?.code == .limitExceeded)
        #expect(error?.byteOffset == 6)
        #expect(error?.message.contains("6 bytes") == true)
        #expect(try await iterator.next() == nil)
    }

    @Test func aLineWithoutAnEndIsNotKeptPastTheLimit() async throws {
        let endless = ClosureSource { _, output, _ in output.append(repeating: 0x61, count: 100, as: UInt8.self) }
        #expect(await asyncCodeThrown { try await self.collect(endless.lines(ofAtMost: 1000)) } == .limitExceeded)
    }

    @Test func anErrorComesAfterTheLinesBeforeItAndIsTheLastWord() async throws {
        let source = ClosureSource { offset, output, _ in
            guard offset == 0 else { throw BlobError(.refused, "No.") }
            for byte in "a\nrest".utf8 { output.append(byte) }
        }
        var iterator = source.lines().makeAsyncIterator()
        #expect(try await iterator.next() == "a")
        let error = await #expect(throws: BlobError.self) { try await iterator.next() }
        #expect(error?.code == .refused)
        // Not "rest": nobody knows whether that was a line.
        #expect(try await iterator.next() == nil)
    }

    @Test func linesEndWithACancelledTask() async throws {
        let source = StuckSource()
        let task = Task { await asyncCodeThrown { try await self.collect(source.lines()) } }
        await source.reads.values(count: 1)
        task.cancel()
        #expect(await task.value == .cancelled)
        source.gate.open()
    }

    private func byteByByte(_ bytes: some Sequence<UInt8>) -> ClosureSource {
        let bytes = Array(bytes)
        return ClosureSource(info: BlobInfo(byteCount: Int64(bytes.count))) { offset, output, _ in
            output.append(bytes[Int(offset)])
        }
    }
}
