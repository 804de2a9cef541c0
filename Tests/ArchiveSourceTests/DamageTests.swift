import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Damaged archives: an error or the right bytes, never others with a clean end.
@Suite struct DamageTests {
    /// A small archive and the way to two members of it.
    struct Sample: Sendable, CustomTestStringConvertible {
        let file: String
        let open: @Sendable (Data) -> ArchiveContainer
        let names: [String]

        var testDescription: String { self.file }

        /// Whether checksums vouch for the bytes.
        var isChecked: Bool { !["tar", "cpio", "ar"].contains { self.file.hasSuffix(".\($0)") } }

        static let all = [
            Sample(file: "small.tar", open: { tar($0) }, names: ["one", "two"]),
            Sample(file: "small.zip", open: { zip($0) }, names: ["one", "two"]),
            Sample(file: "small64.zip", open: { zip($0) }, names: ["one"]),
            Sample(
                file: "small.tar.gz",
                open: { ArchiveContainer(GzipSource(MemorySource($0), format: .gzip), format: .tar) },
                names: ["one", "two"]),
            Sample(
                file: "small.tar.xz",
                open: { ArchiveContainer(DecompressedSource(MemorySource($0), format: .xz), format: .tar) },
                names: ["one"]),
            Sample(
                file: "small.7z", open: { ArchiveContainer(MemorySource($0), format: .sevenzip) },
                names: ["small.zip"]),
            Sample(
                file: "links.cpio", open: { ArchiveContainer(MemorySource($0), format: .cpio) },
                names: ["second", "plain"]),
            Sample(file: "a.ar", open: { ArchiveContainer(MemorySource($0), format: .ar) }, names: ["one", "two"]),
        ]
    }

    enum Damage: CaseIterable, Sendable {
        case cutOff, flippedBit
    }

    @Test(arguments: Sample.all, Damage.allCases)
    func aDamagedArchiveNeverGivesOtherBytes(_ sample: Sample, _ damage: Damage) async throws {
        guard damage == .cutOff || sample.isChecked, let bytes = try await Made.optional(sample.file) else { return }
        try await onThread {
            let selectors = sample.names.map { BlobLocator.Selector.name($0) }
            func contents(of bytes: Data) -> [Data?] {
                let archive = sample.open(bytes)
                return selectors.map { try? archive.member($0, context: BlobContext()).data(upTo: 1 << 20) }
            }
            let expected = contents(of: bytes)
            #expect(!expected.contains(nil))
            for number in 0..<(damage == .cutOff ? bytes.count : 8 * bytes.count) {
                let damaged = damage == .cutOff ? bytes.prefix(number) : bytes.flipping(bit: number)
                for (found, expected) in Swift.zip(contents(of: damaged), expected) where found != nil {
                    #expect(found == expected, "\(damage) \(number)")
                }
            }
        }
    }

    @Test(arguments: CompressionFormat.allCases.filter { $0 != .compress })
    func aStreamThatWasCutOffIsAnError(_ format: CompressionFormat) async throws {
        guard let bytes = try await Made.optional("stream.\(format.fileExtensions[0].suffix)") else { return }
        try await onThread {
            for count in 0..<bytes.count {
                let source = DecompressedSource(MemorySource(bytes.prefix(count)), format: format)
                #expect(codeThrown { try source.data(upTo: 1 << 20) } != nil, "the first \(count) bytes")
            }
        }
    }

    /// Frames of Zstandard have a checksum only where the writer was told to: `--check`.
    @Test(arguments: [
        (CompressionFormat.bzip2, "stream", 7), (.xz, "stream", 7), (.lz4, "stream", 7), (.lzip, "stream", 7),
        (.zstd, "zstd.1", 1),
    ])
    func aFlippedBitInAStreamWithChecksumsNeverGivesOtherBytes(
        _ format: CompressionFormat, content: String, step: Int
    ) async throws {
        guard let bytes = try await Made.optional("\(content).\(format.fileExtensions[0].suffix)") else { return }
        let expected = try await Made.archive(content)
        try await onThread {
            for bit in stride(from: 0, to: 8 * bytes.count, by: step) {
                let source = DecompressedSource(MemorySource(bytes.flipping(bit: bit)), format: format)
                guard let found = try? source.data(upTo: 1 << 20) else { continue }
                #expect(found == expected, "bit \(bit) flipped")
            }
        }
    }

    @Test(arguments: CompressionFormat.allCases.filter { $0 != .compress })
    func whatFollowsTheEndOfAStreamIsNoticed(_ format: CompressionFormat) async throws {
        guard let bytes = try await Made.optional("stream.\(format.fileExtensions[0].suffix)") else { return }
        let expected = try await Made.archive("stream")
        try await onThread {
            for junk in [Data("junk".utf8), Data([1]), Data("a".utf8) + Data(count: 300_000)] {
                let source = DecompressedSource(MemorySource(bytes + junk), format: format)
                #expect(
                    codeThrown { try source.data(upTo: 1 << 20) } != nil, "\(junk.count) bytes of junk after \(format)")
            }
            let twice = DecompressedSource(MemorySource(bytes + bytes), format: format)
            let found = try? twice.data(upTo: 1 << 20)
            #expect(found == nil || found == expected + expected)
        }
    }

    @Test func aWrongChecksumInGzipIsFoundByTheMemberOfItsTar() async throws {
        var bytes = try await Made.archive("small.tar.gz")
        bytes[bytes.count - 8] ^= 1
        let archive = ArchiveContainer(GzipSource(MemorySource(bytes), format: .gzip), format: .tar)
        #expect(try await archive.code("one") == .checksumMismatch)
        #expect(try await archive.code(.index(0)) == .checksumMismatch)
        #expect(try await onThread { archive.listing().error?.code } == .checksumMismatch)
    }

    @Test func damageBehindAMemberLeavesItReadable() async throws {
        let bytes = try await Made.archive("small.tar").prefix(1024 + 512 + 100)
        #expect(try await tar(bytes).data("one") == Data("first member".utf8))
        #expect(try await tar(bytes).code("two") == .truncated)
        #expect(try await ArchiveContainer(SequentialSource(bytes), format: .tar).code("one") == .truncated)
    }

    @Test func anErrorOfTheBaseComesThroughAndStays() async throws {
        let bytes = try await Made.archive("a.tar")
        let failing = FaultSource(SequentialSource(bytes), .fail(at: 5000))
        try await onThread {
            let name = "long/" + String(repeating: "n", count: 150)
            let source = try ArchiveContainer(failing, format: .tar).member(.name(name), context: BlobContext())
            let error = #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20) }
            #expect(error?.code == .io)
        }
    }

    @Test func aLibraryThatIsCalledBackStopsWhenTheJobIsLate() async throws {
        let bytes = try await Made.archive("a.tar")
        for format in [ArchiveFormat.tar, .zip] {
            let stalled = FaultSource(MemorySource(bytes), .stall(at: 700))
            let archive = ArchiveContainer(stalled, format: format)
            let code = try await onThread {
                let context = BlobContext(deadline: .now + .milliseconds(50))
                return codeThrown {
                    try archive.member(.name("last"), context: context).data(upTo: 9, context: context)
                }
            }
            #expect(code == .timedOut)
        }
    }

    @Test func aContainerThatMustBeCopiedIsCopiedUpToTheLimit() async throws {
        let bytes = try await Made.archive("small.zip")
        try await onThread { () throws in
            let spooled = SpooledSource(SequentialSource(bytes))
            var context = BlobContext()
            context.spoolLimit = Int64(bytes.count) - 1
            #expect(codeThrown { try spooled.data(upTo: 1 << 20, context: context) } == .limitExceeded)
            context.spoolLimit += 1
            #expect(try spooled.data(upTo: 1 << 20, context: context) == bytes)
        }
    }

    @Test func oneFormatIsNeverTakenForAnother() async throws {
        let bytes = try await Made.archive("small.tar")
        for format in ArchiveFormat.allCases where format != .tar {
            #expect(try await ArchiveContainer(MemorySource(bytes), format: format).code(.index(0)) != nil)
        }
        for format in CompressionFormat.allCases {
            let source = DecompressedSource(MemorySource(bytes), format: format)
            #expect(try await onThread { codeThrown { try source.data(upTo: 1 << 22) } } == .corrupted)
        }
    }
}
