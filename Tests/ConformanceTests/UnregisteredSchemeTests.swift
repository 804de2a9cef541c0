import BlobStreamsStandard
import Foundation
import Testing

/// The message about a scheme that is not registered, for the schemes of this package and for others.
@Suite struct UnregisteredSchemeTests {
    /// The providers by the expressions of the table, which this compiles.
    private static let providers: [String: [BlobProvider]] = {
        var providers: [String: [BlobProvider]] = [
            "BlobProvider.dataURL": [BlobProvider.dataURL], "FileSource.provider": [FileSource.provider],
            "HTTPSource.provider": [HTTPSource.provider], "S3Source.provider": [S3Source.provider],
            "BlobProvider.gzip": [BlobProvider.gzip], "BlobProvider.zlib": [BlobProvider.zlib],
            "BlobProvider.deflate": [BlobProvider.deflate], "BlobProvider.archives": BlobProvider.archives,
        ]
        #if Photos
        providers["BlobProvider.assetLibrary(at:)"] = [BlobProvider.assetLibrary(at: URL(fileURLWithPath: "/"))]
        #endif
        return providers
    }()

    @Test func theTableHasEverySchemeOfThisPackage() throws {
        let table = UnregisteredScheme.ofPackage
        let standard = Self.providers.values.joined().flatMap(\.schemes).sorted()
        #expect(standard.count > 30)
        #expect(
            BlobRegistry.standard.providers.flatMap(\.schemes).allSatisfy { scheme in
                table.contains { $0.schemes.contains(scheme) }
            })
        for entry in table {
            guard let providers = Self.providers[entry.provider] else {
                #expect(entry.product == "AssetLibrarySource", "\(entry)")
                continue
            }
            #expect(providers.flatMap(\.schemes).sorted() == entry.schemes, "\(entry)")
            #expect(providers.allSatisfy { $0.module == entry.product }, "\(entry)")
        }
    }

    @Test func aSchemeOfThisPackageNamesTheProductToAdd() throws {
        for (scheme, product, provider) in [
            ("s3", "S3Source", "S3Source.provider"), ("https", "HTTPSource", "HTTPSource.provider"),
            ("gzip+file", "FileSource", "FileSource.provider"), ("ph", "AssetLibrarySource", "assetLibrary(at:)"),
            ("sevenzip+text", "ArchiveSource", "BlobProvider.archives"),
            ("zlib+text", "GzipSource", "BlobProvider.zlib"),
        ] {
            var registry = BlobRegistry()
            try registry.register(.gzip)
            try registry.register(self.origin("text"))
            let error = try self.error(registry, "\(scheme)://a")
            #expect(error.message.contains("Add the product \(product), and register "), "\(error)")
            #expect(error.message.contains(provider), "\(error)")
        }
    }

    @Test func aMisspeltSchemeIsCorrected() throws {
        for (locator, meant) in [
            ("htps://a", "https"), ("gzpi+file:///a", "gzip"), ("gz+file:///a", "gzip"), ("zst+file:///a", "zstd"),
            ("fiel:///a", "file"),
        ] {
            let error = try self.error(.standard, locator)
            #expect(error.message.hasSuffix(" Did you mean '\(meant)'?"), "\(error)")
        }
    }

    /// A scheme at the end is an origin, any other one a wrapper. At most eight are listed.
    @Test func anUnknownSchemeListsOthersThatFitInItsPlace() throws {
        let origin = try self.error(.standard, "unheard-of://a")
        #expect(origin.message.hasSuffix(" Registered: data, file, http, https, s3, stdin."), "\(origin)")
        let wrapper = try self.error(.standard, "unheard-of+file:///a")
        #expect(wrapper.message.contains(" Registered: ar, bzip2, cab, compress, cpio, deflate, gzip, iso and "))
        #expect(try self.error(BlobRegistry(), "unheard-of:a").message.hasSuffix(" Registered: none."))
        for (count, ending) in [(8, "s6, s7."), (9, "s6, s7 and 1 more.")] {
            var registry = BlobRegistry()
            for number in 0..<count { try registry.register(self.origin("s\(number)")) }
            #expect(try self.error(registry, "unheard-of:a").message.hasSuffix(ending))
        }
    }

    private func origin(_ scheme: String) -> BlobProvider {
        BlobProvider(.origin { _, _ in MemorySource([]) }, schemes: [scheme])
    }

    private func error(_ registry: BlobRegistry, _ locator: String) throws -> BlobError {
        let error = try #require(throws: BlobError.self) { try registry.source(for: try BlobLocator(locator)) }
        #expect(error.code == .notRegistered)
        return error
    }
}
