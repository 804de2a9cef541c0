import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// The way from a locator to a member.
@Suite struct RegistryTests {
    private static let registry = Result {
        var registry = BlobRegistry()
        for provider in [FileSource.provider, .gzip] + BlobProvider.archives { try registry.register(provider) }
        return registry
    }

    private func data(_ locator: String) async throws -> Data {
        try await onThread { try Self.registry.get().source(for: locator).data(upTo: 1 << 22) }
    }

    @Test(arguments: ["", ".gz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".lz", ".Z"])
    func aMemberIsFoundBySignatureWhateverIsAroundTheArchive(suffix: String) async throws {
        guard try await Made.optional("a.tar\(suffix)") != nil else { return }
        let url = try await Made.url("a.tar\(suffix)").absoluteString
        #expect(try await self.data("archive+\(url)#d/a.txt") == Data("hello".utf8))
        #expect(try await self.data("\(url)#hard") == Data("hello".utf8))
        #expect(try await self.data("\(url)#@14") == Data("the last".utf8))
        #expect(try await self.data("\(url)#in.zip!/big") == Made.big)
        #expect(try await self.data("\(url)#odd%20%25%21%23@%0A%C3%A9") == Data("odd".utf8))
        #expect(try await self.data("\(url)#%405") == Data("at".utf8))
    }

    @Test func namedWrappersDecode() async throws {
        let url = try await Made.url("a.tar.gz").absoluteString
        #expect(try await self.data("tar+gzip+\(url)#d/a.txt") == Data("hello".utf8))
        #expect(try await self.data("zip+tar+gzip+\(url)#in.zip!/in/a") == Data("inner".utf8))
        let stream = try await Made.url("stream.xz").absoluteString
        #expect(try await self.data("xz+\(stream)") == Made.archive("stream"))
    }

    @Test(arguments: ["plain.rpm", "gzip.rpm", "xz.rpm"])
    func aFileOfAPackageIsFound(file: String) async throws {
        let url = try await Made.url(file).absoluteString
        #expect(try await self.data("\(url)#plain") == Data("plain bytes".utf8))
        #expect(try await self.data("archive+rpm+\(url)#second") == Data("both".utf8))
    }

    @Test func aTarWithoutASignatureIsRecognisedByItsChecksum() async throws {
        let bytes = try await Made.archive("v7.tar")
        let found = try await onThread { try Self.registry.get().identify(MemorySource(bytes)).provider?.schemes }
        #expect(found == ["tar"])
        let damaged = bytes.flipping(at: 0)
        #expect(try await onThread { try Self.registry.get().identify(MemorySource(damaged)).provider } == nil)
        #expect(try await tar(bytes).data("old") == Data("without magic".utf8))
    }

    @Test func errorsNameTheMember() async throws {
        let url = try await Made.url("a.tar.gz").absoluteString
        let error = try await onThread {
            #expect(throws: BlobError.self) {
                try Self.registry.get().source(for: "archive+\(url)#nope").data(upTo: 9)
            }
        }
        #expect(error?.code == .notFound)
        #expect(error?.locator == "tar+gzip+\(url)#nope")
    }
}
