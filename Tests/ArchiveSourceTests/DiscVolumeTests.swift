import BlobStreams
import BlobTestSupport
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Disc images with UDF beside ISO 9660.
@Suite struct DiscVolumeTests {
    private func list(_ source: any BlobInputStreamDataSource) async throws -> (names: [String], BlobError?) {
        try await onThread {
            let (members, error) = ArchiveContainer(source, format: .iso).listing()
            return (members.map(\.printableName), error)
        }
    }

    /// With random access, from beginning to end, and once.
    private func sources(_ bytes: Data) -> [any BlobInputStreamDataSource] {
        let once = BlobCore.SequentialSource(info: BlobInfo()) {
            try MemorySource(bytes).makeBody(BlobOpening(context: $0))
        }
        return [MemorySource(bytes), SequentialSource(bytes), once]
    }

    /// As the installers of Windows are: a file in ISO 9660 says that all others are in UDF.
    @Test func aBareCatalogueBesideUDFIsRefusedByName() async throws {
        let bytes = try await Fixture.unzipped("udf-hidden.iso.gz")
        for source in self.sources(bytes) {
            let (names, error) = try await self.list(source)
            #expect(names.isEmpty && error?.code == .unsupported)
            #expect(error?.message.contains("UDF file system with 3 files") == true, "\(error?.message ?? "")")
        }
        let archive = ArchiveContainer(MemorySource(bytes), format: .iso)
        #expect(try await archive.code("README.TXT") == .unsupported)
    }

    @Test func aBridgeDiscIsRead() async throws {
        let bytes = try await Fixture.unzipped("bridge.iso.gz")
        for source in self.sources(bytes) {
            let (names, error) = try await self.list(source)
            #expect(error == nil)
            #expect(names.sorted() == [".", "deep", "deep/er", "deep/er/three", "deep/two.txt", "one"])
        }
        let archive = ArchiveContainer(MemorySource(bytes), format: .iso)
        #expect(try await archive.data("deep/two.txt") == Data("two\n".utf8))
    }

    @Test func aFileThatOnlyUDFHasIsAnErrorAfterTheOthers() async throws {
        let (names, error) = try await self.list(MemorySource(Fixture.unzipped("udf-more.iso.gz")))
        #expect(names.sorted() == [".", "deep", "deep/er", "deep/er/three", "deep/two.txt"])
        #expect(error?.code == .unsupported)
    }

    @Test func damagedDescriptorsAreRead() async throws {
        let bytes = [UInt8](try await Fixture.unzipped("udf-hidden.iso.gz").prefix(DiscVolume.byteCount))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<8 {
                let sector = [16, 17, 18, 19, 32, 33, 34, 35, 64, 256].randomElement(using: &generator) ?? 16
                damaged[sector * 2048 + Int.random(in: 0..<512, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            let volume = damaged.withUnsafeBytes { DiscVolume($0) }
            #expect(volume?.hasMore(thanFiles: .max, directories: .max) != true)
        }
        for count in stride(from: 0, to: bytes.count, by: 1021) {
            _ = bytes.withUnsafeBytes { DiscVolume(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    @Test func anImageWithUDFAloneIsNamed() async throws {
        var bytes = Data(count: 40 * 1024)
        bytes.replaceSubrange((16 * 2048 + 1)..., with: Data("BEA01".utf8))
        let image = bytes
        let error = try await onThread {
            var registry = BlobRegistry()
            for provider in BlobProvider.archives { try registry.register(provider) }
            return BlobError(
                wrapping: try #require(
                    throws: (any Error).self,
                    performing: {
                        let provider = try registry.identify(MemorySource(image)).provider
                        guard case .container(let open) = provider?.kind else { return }
                        _ = try open(MemorySource(image), BlobContext())
                    }))
        }
        #expect(error.code == .unsupported && error.message.contains("UDF"))
    }
}

extension Fixture {
    /// The content of a gzip.
    fileprivate static func unzipped(_ name: String) async throws -> Data {
        let bytes = try self.bytes(name)
        return try await onThread { try GzipSource(MemorySource(bytes)).data(upTo: 1 << 24) }
    }
}
