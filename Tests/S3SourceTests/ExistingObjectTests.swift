import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

@testable import S3Source

/// Objects that are there, and whether they are the source. A part has 1,000 bytes.
@Suite(.timeLimit(.minutes(3))) struct ExistingObjectTests {
    private static let object = "s3://bucket/key"

    /// Lengths around those of parts.
    @Test(arguments: [0, 1, 999, 1000, 1001, 2000, 3500]) func whatWasStoredIsFound(byteCount: Int) async throws {
        let (store, bytes) = (try StoringStore(), makeContent(byteCount))
        let source = MemorySource(bytes, validator: .strong("1"))
        #expect(try await store.uploader().existing(source, at: Self.object, BlobContext()) == nil)
        let stored = try await store.uploader().upload(source, to: Self.object)
        #expect(try await store.uploader().existing(source, at: Self.object, BlobContext()) == stored)
        // Read from its start to its end, once.
        let stream = OneReaderSource(base: source)
        #expect(try await store.uploader().existing(stream, at: Self.object, BlobContext()) == stored)
        let other = MemorySource(makeContent(byteCount + 4).dropFirst(4), validator: .strong("1"))
        let found = try await store.uploader().existing(other, at: Self.object, BlobContext())
        #expect((found == nil) == (byteCount > 0))
    }

    /// Tags that prove nothing: of other parts, of a store that encrypts, and of none.
    @Test func whatIsNotProvenIsNotFound() async throws {
        let (store, bytes) = (try StoringStore(), makeContent(3500))
        let source = MemorySource(bytes, validator: .strong("1"))
        var uploader = try store.uploader()
        uploader.partByteCount = 2000
        _ = try await uploader.upload(source, to: Self.object)
        #expect(try await uploader.existing(source, at: Self.object, BlobContext()) != nil)
        #expect(try await store.uploader().existing(source, at: Self.object, BlobContext()) == nil)
        let zeros = String(repeating: "0", count: 32)
        for tag in ["opaque", zeros, "\(zeros)-4", "\(zeros)-0", "\(zeros)--4", "-4", ""] {
            store.stored = (bytes, tag)
            #expect(try await store.uploader().existing(source, at: Self.object, BlobContext()) == nil, "\(tag)")
        }
    }

    @Test(arguments: ["403 Forbidden", "404 Not Found", "503 Busy"])
    func aStoreThatCannotBeAskedHasNothing(status: String) async throws {
        let store = try StoringStore { _, _ in .answer(StoringStore.head(status)) }
        let source = MemorySource([1], validator: .strong("1"))
        #expect(try await store.uploader().existing(source, at: Self.object, BlobContext()) == nil)
        #expect(store.requests.count == 1)
    }

    /// A file of as many bytes as its object, which another upload made of two parts.
    @Test func theCommandReplacesAnotherObjectOfTheSameLength() async throws {
        let (folder, bytes) = (try TemporaryFolder(), Array("hello!".utf8))
        let path = try folder.write(bytes, to: "x")
        let store = try StoringStore { _, request in
            guard request.method == "HEAD" else { return .serve }
            let tag = EntityTag.combined([[UInt8](repeating: 1, count: 16), [UInt8](repeating: 2, count: 16)])
            return .answer(StoringStore.head("200 OK", ["ETag: \"\(tag)\""], byteCount: 6))
        }
        let outcome = try await StoreCommand.run(
            ["job", "put", "s3://bucket/", path, "--json"], environment: store.environment)
        #expect(outcome.status == 0 && outcome.outputText.contains("\"state\":\"stored\""), "\(outcome.errors)")
        #expect(store.objects.values.first == bytes)
    }

    @Test func theCommandFindsTheObjectOfItsParts() async throws {
        let (folder, store) = (try TemporaryFolder(), try StoringStore())
        let path = try folder.write(makeContent(17 << 20), to: "x")
        for state in ["stored", "exists"] {
            let outcome = try await StoreCommand.run(
                ["job", "put", "s3://bucket/", path, "--json", "--part-size", "5MiB"], environment: store.environment)
            #expect(outcome.status == 0 && outcome.outputText.contains("\"state\":\"\(state)\""), "\(outcome.errors)")
        }
        #expect(store.sentParts == [1, 2, 3, 4])
    }
}
