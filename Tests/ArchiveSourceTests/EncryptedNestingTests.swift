import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Encrypted archives in archives: whose password is asked for, and that nothing decrypted is kept for others.
@Suite struct EncryptedNestingTests {
    private static let registry = Result {
        var registry = BlobRegistry()
        for provider in [FileSource.provider, .gzip] + BlobProvider.archives { try registry.register(provider) }
        return registry
    }

    private static let locked = Fixture.url("nested-locked.zip").absoluteString

    private static func container(_ locator: String, _ context: BlobContext) throws -> ArchiveContainer {
        let container = try self.registry.get().container(for: BlobLocator(locator), context: context)
        return try #require(container as? ArchiveContainer)
    }

    /// Expects that a container can be read with the password `outer`, and only with it, also after that.
    private static func expectLocked(
        _ right: BlobContext, _ read: (BlobContext) throws -> some Equatable
    ) throws {
        for _ in 0..<3 {
            let first = try read(right)
            for other in [BlobContext(), BlobContext(password: nil), BlobContext(password: "wrong")] {
                #expect(codeThrown { try read(other) } == .encrypted)
            }
            let second = try read(right)
            #expect(first == second)
        }
    }

    @Test func eachArchiveIsAskedForByItsLocator() async throws {
        let open = Fixture.url("nested.zip").absoluteString
        let cases = [
            ("\(Self.locked)#plain.zip!/short", [Self.locked]),
            ("\(Self.locked)#locked.zip!/short", [Self.locked, "zip+\(Self.locked)#locked.zip"]),
            ("\(open)#locked.zip!/short", ["zip+\(open)#locked.zip"]),
        ]
        for (locator, archives) in cases {
            let asked = Locked<Set<String>>([])
            var context = BlobContext()
            context.password = { archive in
                let text = archive?.text ?? ""
                asked.withLock { _ = $0.insert(text) }
                return text.hasSuffix("#locked.zip") ? "inner" : "outer"
            }
            let job = context
            let data = try await onThread {
                try Self.registry.get().source(for: BlobLocator(locator), context: job).data(
                    upTo: 1 << 16, context: job)
            }
            #expect(data == Fixture.short, "\(locator)")
            #expect(asked.withLock { $0 } == Set(archives))
        }
    }

    @Test func aCopyOfADecryptedArchiveIsForThoseWithThePassword() async throws {
        try await onThread {
            let right = BlobContext(password: "outer")
            let container = try Self.container("\(Self.locked)#plain.zip", right)
            let source = try container.member(.name("short"), context: right)
            try Self.expectLocked(right) { try source.data(upTo: 1 << 16, context: $0) }
            // An index of it would have its bytes.
            let info = try source.info(right)
            #expect(info.validator == nil && !info.isRandomAccess)
        }
    }

    @Test func aTableOfADecryptedArchiveIsNotKept() async throws {
        try await onThread {
            let right = BlobContext(password: "outer")
            let container = try Self.container("\(Self.locked)#many.tar", right)
            try Self.expectLocked(right) { context in
                let (members, error) = container.listing(context)
                if let error { throw error }
                return members
            }
            try Self.expectLocked(right) {
                try container.member(.name("two"), context: $0).data(upTo: 9, context: $0)
            }
        }
    }

    @Test func aReaderThatWaitsInAPassIsForThoseWithThePassword() async throws {
        try await onThread {
            let right = BlobContext(password: "outer")
            let (container, pass) = try Self.container("\(Self.locked)#many.tar", right).inOnePass(right)
            let first = try container.member(.name("one"), context: right).data(upTo: 9, context: right)
            #expect(first == Data("one".utf8))
            let other = BlobContext(password: "wrong")
            #expect(
                codeThrown { try container.member(.name("two"), context: other).data(upTo: 9, context: other) }
                    == .encrypted)
            let second = try container.member(.name("two"), context: right).data(upTo: 9, context: right)
            #expect(second == Data("two".utf8))
            try pass.finish(right)
        }
    }
}
