import BlobStreams
import BlobTestSupport
import Foundation
import HelperExchange
import Testing

@testable import ArchiveSource

/// What a process and its helper say to each other.
@Suite struct ExchangeTests {
    private static let entry = {
        var entry = ExchangedEntry()
        entry.facts = [.byteCount, .time, .symbolicLink, .warning]
        (entry.mode, entry.linkCount, entry.byteCount) = (0o120777, 3, 1 << 40)
        (entry.seconds, entry.nanoseconds) = (-5, 999_999_999)
        (entry.name, entry.target, entry.warning) = (Array("name".utf8), [0xFF], Array("Odd.".utf8))
        return entry
    }()

    @Test func anEntryIsWhatWasSent() {
        #expect(ExchangedEntry.decode(Self.entry.encoded) == [Self.entry])
        #expect(ExchangedEntry.decode(ExchangedEntry().encoded) == [ExchangedEntry()])
        let both = Self.entry.encoded + ExchangedEntry().encoded
        #expect(ExchangedEntry.decode(both) == [Self.entry, ExchangedEntry()])
    }

    @Test func anEntryOfAnotherLengthIsRefused() {
        let whole = Self.entry.encoded
        for count in whole.indices.dropFirst() { #expect(ExchangedEntry.decode(Array(whole[..<count])) == nil) }
        #expect(ExchangedEntry.decode(whole + [0]) == nil)
        // The length of the name is the fourth of the large numbers.
        for byte in 36..<60 {
            let damaged = whole.flipping(0x80, at: byte)
            #expect(ExchangedEntry.decode(damaged) == nil, "byte \(byte)")
        }
    }

    @Test func onlySharedMemoryHasPlaces() throws {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        try #require(ftruncate(fileno(file), off_t(ExchangeMemory.byteCount)) == 0)
        let memory = try #require(ExchangeMemory(descriptor: fileno(file)))
        let size = Int64(ExchangeMemory.byteCount)
        #expect(memory.bytes(at: 0, count: size)?.count == Int(size))
        #expect(memory.bytes(at: size, count: 0)?.count == 0)
        for (place, count) in [(0, size + 1), (-1, 1), (size, 1), (1, size), (1, -1), (.max, 1), (1, .max)] {
            #expect(memory.bytes(at: place, count: count) == nil, "\(place) \(count)")
        }
        #expect(memory.place(of: UnsafeRawBufferPointer(memory.output)) == Int64(ExchangeMemory.inputByteCount))
        [UInt8](repeating: 0, count: 9).withUnsafeBytes { #expect(memory.place(of: $0) == nil) }
    }

    /// A helper that answers each command with the same frame; the shell has no zeros but as escapes.
    @Test(arguments: [
        "junk that is no frame at all, but long enough to be one", #"\020"#,
        // `opened` of version 2; `data` before anything was asked; a payload of 1 MiB; `need` at a negative offset.
        #"\020\0\0\0\0\0\0\0\002\0\0\0\0\0\0\0"# + String(repeating: #"\0"#, count: 16),
        #"\022\0\0\0\0\0\0\0"# + String(repeating: #"\0"#, count: 24),
        #"\020\0\0\0\0\0\020\0"# + String(repeating: #"\0"#, count: 24),
        #"\025\0\0\0\0\0\0\0"# + String(repeating: #"\377"#, count: 24),
    ])
    func aHelperThatSaysAnythingElseIsUnavailable(frame: String) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("#!/bin/sh\nprintf '\(frame)' >&3\n", to: "helper")
        chmod(path, 0o700)
        let code = try await onThread {
            ArchiveContainer(MemorySource(WARCTests.archive), format: .warc, isolation: .helper(at: path))
                .listing().error?.code
        }
        #expect(code == .unavailable)
    }
}
