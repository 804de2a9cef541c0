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

    @Test(arguments: Sample.all)
    func anArchiveThatWasCutOffNeverGivesOtherBytes(_ sample: Sample) async throws {
        guard let bytes = try await Made.optional(sample.file) else { return }
        try await onThread {
            for name in sample.names {
                let expected = try sample.open(bytes).member(.name(name), context: BlobContext()).data(upTo: 1 << 20)
                for count in 0..<bytes.count {
                    let archive = sample.open(bytes.prefix(count))
                    guard let found = try? archive.member(.name(name), context: BlobContext()).data(upTo: 1 << 20)
                    else { continue }
                    #expect(found == expected, "\(name) of the first \(count) bytes")
                }
            }
        }
    }

    @Test(arguments: Sample.all.filter(\.isChecked))
    func aFlippedBitOfWhatIsCheckedNeverGivesOtherBytes(_ sample: Sample) async throws {
        guard let bytes = try await Made.optional(sample.file) else { return }
        try await onThread {
            for name in sample.names {
                let expected = try sample.open(bytes).member(.name(name), context: BlobContext()).data(upTo: 1 << 20)
                for bit in 0..<(8 * bytes.count) {
                    var damaged = bytes
                    damaged[bit / 8] ^= 1 << (bit % 8)
                    let archive = sample.open(damaged)
                    guard let found = try? archive.member(.name(name), context: BlobContext()).data(upTo: 1 << 20)
                    else { continue }
                    #expect(found == expected, "\(name) with bit \(bit) flipped")
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

    @Test(arguments: [CompressionFormat.bzip2, .xz, .lz4, .lzip])
    func aFlippedBitInAStreamWithChecksumsNeverGivesOtherBytes(_ format: CompressionFormat) async throws {
        guard let bytes = try await Made.optional("stream.\(format.fileExtensions[0].suffix)") else { return }
        let expected = try await Made.archive("stream")
        try await onThread {
            for bit in stride(from: 0, to: 8 * bytes.count, by: 7) {
                var damaged = bytes
                damaged[bit / 8] ^= 1 << (bit % 8)
                let source = DecompressedSource(MemorySource(damaged), format: format)
                guard let found = try? source.data(upTo: 1 << 20) else { continue }
                #expect(found == expected, "bit \(bit) flipped")
            }
        }
    }

    /// Frames of Zstandard have a checksum only where the writer was told to: `--check`.
    @Test func aFlippedBitInACheckedFrameOfZstandardNeverGivesOtherBytes() async throws {
        guard let bytes = try await Made.optional("zstd.1.zst") else { return }
        let expected = try await Made.archive("zstd.1")
        try await onThread {
            for bit in 0..<(8 * bytes.count) {
                var damaged = bytes
                damaged[bit / 8] ^= 1 << (bit % 8)
                let found = try? DecompressedSource(MemorySource(damaged), format: .zstd).data(upTo: 1 << 20)
                #expect(found == nil || found == expected, "bit \(bit) flipped")
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
        let listing = try await onThread { codeThrown { try archive.forEachMember(BlobContext()) { _ in true } } }
        #expect(listing == .checksumMismatch)
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
