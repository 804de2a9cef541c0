import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Archives that other programs read, though their writers took liberties.
@Suite struct OddArchiveTests {
    private static let text = Data(String(repeating: "text", count: 9).utf8)

    private static let registry = Result {
        var registry = BlobRegistry()
        for provider in [BlobProvider.gzip] + BlobProvider.archives(allowing: [.rar]) {
            try registry.register(provider)
        }
        return registry
    }

    @Test(arguments: [
        "unpacked-size.zip", "packed-size.zip", "checksum-only.zip", "no-signature.zip", "long-descriptor.zip",
    ])
    func aZipWhoseWriterKnewSomeNumbersBeforeTheBytesIsRead(file: String) async throws {
        #expect(try await zip(Made.archive(file)).data("m") == Self.text)
    }

    @Test(arguments: ["wrong-size.zip", "no-descriptor.zip"])
    func numbersThatAreNotThoseOfTheDirectoryAreRefused(file: String) async throws {
        #expect(try await zip(Made.archive(file)).code("m") == .inconsistent)
    }

    @Test func aZipOfWhatCameThroughAPipeIsRead() async throws {
        #expect(try await zip(Made.archive("pipe.zip")).data("-") == Data("from a pipe".utf8))
        #expect(try await zip(Made.archive("device.zip")).data("tty") == Data("typed".utf8))
        #expect(try await zip(Made.archive("nothing.zip")).code("tty") == .unsupported)
    }

    @Test func aNameInCodePage437IsAcceptedAsItsBytesAndAsItsCharacters() async throws {
        let archive = zip(try await Made.archive("cp437.zip"))
        let bytes = [0x91] + Array("o".utf8) + [0x86] + Array(".txt".utf8)
        #expect(try await archive.members().map(\.name) == [bytes])
        #expect(try await archive.data(.name(bytes)) == Data("text".utf8))
        #expect(try await archive.data("æoå.txt") == Data("text".utf8))
        #expect(try await archive.code("æoæ.txt") == .notFound)
        // Also once there is a table of the names as they are.
        for _ in 0..<20 { #expect(try await archive.data("æoå.txt") == Data("text".utf8)) }
        #expect(try await zip(Made.archive("flagged.zip")).data("æ.txt") == Data("text".utf8))
    }

    @Test func codePage437HasACharacterForEachByte() {
        let decoded = String(decoding: CodePage437.decode(0...255), as: UTF8.self).unicodeScalars
        #expect(Set(decoded).count == 256)
        #expect(decoded.last == "\u{A0}")
        #expect(Array(decoded)[0xE1] == "ß")
    }

    @Test func aNameWithAZeroIsAcceptedAsOthersShowIt() async throws {
        let archive = zip(try await Made.archive("zero.zip"))
        for name in ["seen", "seen\0hidden"] { #expect(try await archive.data(name) == Data("text".utf8)) }
        #expect(try await archive.code("hidden") == .notFound)
    }

    @Test func aNameThatLooksLikeATrailerOf64BitsIsAName() async throws {
        let archive = zip(try await Made.archive("magic.zip"))
        #expect(try await archive.members().count == 1)
        #expect(try await archive.data(.index(0)) == Data("text".utf8))
        #expect(try await archive.data("PK\u{6}\u{6}") == Data("text".utf8))
    }

    @Test(arguments: [("sfx-zip", "zip"), ("sfx-7z", "sevenzip"), ("sfx-rar", "rar")])
    func anArchiveBehindAProgramIsFound(file: String, scheme: String) async throws {
        let bytes = try await Made.archive(file)
        try await onThread {
            let identification = try Self.registry.get().identify(MemorySource(bytes))
            #expect(identification.provider?.schemes == [scheme])
            let format = try #require(ArchiveFormat(rawValue: scheme))
            let archive = ArchiveContainer(MemorySource(bytes), format: format)
            #expect(try archive.member(.name("m"), context: BlobContext()).data(upTo: 9) == Data("text".utf8))
            // Where the program is not whole, there is none behind it.
            let start = MemorySource(bytes.prefix(300_030))
            #expect(try scheme == "zip" || Self.registry.get().identify(start).provider == nil)
        }
    }

    @Test func anArchiveAcrossTheEndOfABufferBehindAProgramIsFound() async throws {
        let program = try await Made.archive("sfx-7z")
        let archive = try await Made.archive("plain.7z")
        let start = program.count - archive.count
        for distance in [0, 1, 31, 32, 33] {
            let more = Data(count: (512 << 10) - start - distance)
            let bytes = program.prefix(start) + more + archive
            let found = try await onThread {
                try EmbeddedSource.byteOffset(of: .sevenzip, in: MemorySource(bytes), BlobContext())
            }
            #expect(found == (512 << 10) - Int64(distance))
        }
    }

    @Test func thePayloadOfAPackageIsRead() async throws {
        let bytes = try await Made.archive("gzip.rpm")
        let payload = bytes.dropFirst(96 + 40 + 45)
        for base: any BlobInputStreamDataSource in [SequentialSource(bytes), OneByteSource(bytes: bytes)] {
            let read = try await onThread { try RPMSource(base).data(upTo: 1 << 20) }
            #expect(read == payload)
        }
        expectNone(await violations(of: RPMSource(MemorySource(bytes)), expecting: Data(payload)))
        try await onThread {
            for count in 0..<(bytes.count - payload.count) {
                let code = codeThrown { try RPMSource(MemorySource(bytes.prefix(count))).data(upTo: 1 << 20) }
                #expect(code == .truncated)
            }
        }
    }

    @Test func aStoredMemberOfRAR5IsRead() async throws {
        let archive = ArchiveContainer(MemorySource(try await Made.archive("stored.rar")), format: .rar)
        #expect(try await archive.data("m") == Data("text".utf8))
        #expect(try await archive.data(.index(0)) == Data("text".utf8))
    }

    @Test func aSparseFileOfSolarisIsReadWithItsHoles() async throws {
        let archive = tar(try await Made.archive("solaris.tar"))
        let expected = Data(repeating: 0x64, count: 512) + Data(count: 512) + Data(repeating: 0x65, count: 1024)
        #expect(try await archive.data("sparse") == expected)
        #expect(try await archive.data("next") == Data("next".utf8))
    }

    /// Content that was written anew with nothing that tells: as a file under equal size, time and number.
    private final class RewrittenSource: BlobInputStreamDataSource {
        let bytes: Locked<Data>

        init(_ bytes: Data) { self.bytes = Locked(bytes) }

        var traits: BlobTraits { [.repeatable, .concurrentReaders] }
        func describe(_ context: BlobContext) -> BlobInfo {
            BlobInfo(
                byteCount: Int64(self.bytes.withLock { $0.count }), validator: .strong("same"), isRandomAccess: true)
        }
        func makeBody(_ opening: BlobOpening) -> BlobBody {
            let bytes = self.bytes.withLock { $0 }
            return .positional(self.describe(opening.context)) { offset, output in
                _ = bytes.dropFirst(Int(offset)).withUnsafeBytes { output.append(contentsOf: $0) }
            }
        }
    }

    @Test(arguments: [ArchiveFormat.tar, .zip])
    func aMemberThatTheTableDoesNotKnowIsSearchedForWithoutIt(_ format: ArchiveFormat) async throws {
        let old = try await Made.archive(format == .tar ? "a.tar" : "small.zip")
        let new = try await Made.archive(format == .tar ? "small.tar" : "a.zip")
        let (oldName, newName) = format == .tar ? ("last", "two") : ("two", "stored")
        let source = RewrittenSource(old)
        let archive = ArchiveContainer(source, format: format)
        // As often as it takes until there is a table.
        for _ in 0..<20 { _ = try await archive.data(oldName) }
        source.bytes.withLock { $0 = new }
        let expected = try await ArchiveContainer(MemorySource(new), format: format).data(newName)
        #expect(try await archive.data(newName) == expected)
        #expect(try await archive.code(oldName) == .notFound)
        #expect(try await archive.data(.index(0)).count > 0)
    }
}
