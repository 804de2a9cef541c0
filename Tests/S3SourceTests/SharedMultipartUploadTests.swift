import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// Uploads whose parts are stored by several uploaders, as by processes on several machines. A part has 1,000 bytes.
@Suite(.timeLimit(.minutes(3))) struct SharedMultipartUploadTests {
    private static let object = "s3://bucket/key"
    private let bytes = makeContent(3500)

    private var source: MemorySource { MemorySource(self.bytes, mediaType: "text/plain", validator: .strong("1")) }

    private func begin(_ store: StoringStore) async throws -> SharedMultipartUpload {
        let begun = try await store.uploader().begin(self.source, to: Self.object, BlobContext())
        let (upload, parts) = try #require(begun)
        #expect(parts == [0..<1000, 1000..<2000, 2000..<3000, 3000..<3500])
        return upload
    }

    private func put(_ numbers: [Int], of upload: SharedMultipartUpload, _ store: StoringStore) async throws {
        for number in numbers {
            let (range, tag) = try await store.uploader().store(number, of: upload, self.source, BlobContext())
            let part = Array(self.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            #expect(tag == StoringStore.digest(.md5, part).hexadecimal)
        }
    }

    @Test func partsInAnyOrderAndAgainMakeTheObject() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        try await self.put([4, 1, 3, 1, 2, 4], of: upload, store)
        #expect(store.sentParts == [1, 2, 3, 4])
        let (object, isNew) = try await store.uploader().finish(upload, of: { self.source }, BlobContext())
        #expect(isNew && store.object == self.bytes && store.uploads.isEmpty)
        #expect(object.byteCount == 3500 && object.entityTag.hasSuffix("-4"))
        #expect(store.requests.first?.fields["content-type"] == "text/plain")
        // As a repetition does, whose first attempt was lost.
        let again = try await store.uploader().finish(upload, of: { self.source }, BlobContext())
        #expect(!again.isNew && again.object == object)
        #expect(await asyncCodeThrown { try await self.put([1], of: upload, store) } == .notFound)
    }

    @Test func whatTheStoreHasIsNotSentAgain() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        try await self.put([2, 2, 3], of: upload, store)
        #expect(store.sentParts == [2, 3])
    }

    /// The answers to both requests that make the object are lost.
    @Test func anObjectWhoseAnswerWasLostIsFound() async throws {
        let store = try StoringStore { _, request in
            request.method == "POST" && request.parameter("uploadId") != nil ? .serveSilently : .serve
        }
        let upload = try await self.begin(store)
        try await self.put([1, 2, 3, 4], of: upload, store)
        let (object, isNew) = try await store.uploader().finish(upload, of: { self.source }, BlobContext())
        #expect(isNew && object.byteCount == 3500 && store.object == self.bytes)
    }

    /// The first two lists are without the last part.
    @Test func aPartThatIsListedLateIsWaitedFor() async throws {
        let lists = Locked(0)
        let store = try StoringStore(maximumListCount: 10) { _, request in
            guard request.method == "GET", request.parameter("max-parts") == nil else { return .serve }
            let isWhole = lists.withLock { count in
                count += 1
                return count > 2
            }
            guard !isWhole else { return .serve }
            return .answer(StoringStore.document("<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>"))
        }
        let upload = try await self.begin(store)
        try await self.put([1, 2, 3, 4], of: upload, store)
        #expect(try await store.uploader().finish(upload, of: { self.source }, BlobContext()).isNew)
        #expect(lists.withLock { $0 } == 3 && store.object == self.bytes)
    }

    @Test func aMissingPartMakesNoObject() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        try await self.put([1, 2, 4], of: upload, store)
        let error = await errorThrown { try await store.uploader().finish(upload, of: { self.source }, BlobContext()) }
        #expect(error?.code == .truncated && error?.message.contains("Part 3 of 4") == true && store.object == nil)
        try await store.uploader().abort(upload, BlobContext())
        #expect(store.uploads.isEmpty)
        #expect(
            await asyncCodeThrown { try await store.uploader().finish(upload, of: { self.source }, BlobContext()) }
                == .notFound)
    }

    @Test func theObjectOfAnotherUploadIsNotThisOne() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        try await store.uploader().abort(upload, BlobContext())
        // Of another length, and of other bytes: in as many parts, in others, and stored by one request.
        let others: [(bytes: [UInt8], partByteCount: Int64, singleByteCount: Int64)] = [
            (Array(self.bytes.dropLast()), 1000, 1000), (self.bytes.reversed(), 1000, 1000),
            (self.bytes.reversed(), 2000, 1000), (self.bytes.reversed(), 1000, 4000),
        ]
        for other in others {
            var uploader = try store.uploader()
            (uploader.partByteCount, uploader.singleByteCount) = (other.partByteCount, other.singleByteCount)
            _ = try await uploader.upload(MemorySource(other.bytes), to: Self.object)
            #expect(await self.codeOfFinish(upload, store) == .changed)
        }
        // A tag of another kind, as of a store that encrypts.
        for (bytes, code) in [(self.bytes.reversed(), BlobError.Code.changed), (self.bytes, nil)] {
            for tag in ["opaque", String(repeating: "0", count: 32) + "-4", String(repeating: "0", count: 32)] {
                store.stored = (bytes, tag)
                #expect(await self.codeOfFinish(upload, store) == code, "\(tag)")
            }
        }
    }

    private func codeOfFinish(_ upload: SharedMultipartUpload, _ store: StoringStore) async -> BlobError.Code? {
        await asyncCodeThrown { try await store.uploader().finish(upload, of: { self.source }, BlobContext()) }
    }

    /// The source is opened only to be compared, and must be that of the upload.
    @Test func anObjectIsComparedWithTheSourceOfTheUpload() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        try await self.put([1, 2, 3, 4], of: upload, store)
        let unused = { @Sendable () throws -> any BlobInputStreamDataSource in throw BlobError(.internalError, "No.") }
        #expect(try await store.uploader().finish(upload, of: unused, BlobContext()).isNew)
        let changed = MemorySource(self.bytes, validator: .strong("2"))
        let code = await asyncCodeThrown { try await store.uploader().finish(upload, of: { changed }, BlobContext()) }
        #expect(code == .changed)
    }

    /// The answers are lost, and another upload has replaced the object meanwhile.
    @Test func anObjectThatWasReplacedIsNotTheLostOne() async throws {
        let other: [UInt8] = self.bytes.reversed()
        let tag = EntityTag.combined(
            stride(from: 0, to: 3500, by: 1000).map {
                StoringStore.digest(.md5, Array(other[$0..<min($0 + 1000, 3500)]))
            })
        let place = Locked<StoringStore?>(nil)
        let store = try StoringStore { _, request in
            if request.method == "HEAD" { place.withLock { $0 }?.stored = (other, tag) }
            return request.method == "POST" && request.parameter("uploadId") != nil ? .serveSilently : .serve
        }
        place.withLock { $0 = store }
        defer { place.withLock { $0 = nil } }
        let upload = try await self.begin(store)
        try await self.put([1, 2, 3, 4], of: upload, store)
        #expect(await self.codeOfFinish(upload, store) != nil)
    }

    @Test func aSourceThatChangedStoresNoPart() async throws {
        let store = try StoringStore()
        let upload = try await self.begin(store)
        let changed = MemorySource(self.bytes, validator: .strong("2"))
        let code = await asyncCodeThrown { try await store.uploader().store(1, of: upload, changed, BlobContext()) }
        #expect(code == .changed)
        #expect(store.sentParts.isEmpty)
    }

    /// Without a strong validator, nothing shows that two processes read the same bytes.
    @Test func whatIsShortOrNotSurelyTheSameIsNotDivided() async throws {
        let store = try StoringStore()
        let wholes: [any BlobInputStreamDataSource] = [
            MemorySource(Array(self.bytes[..<1000]), validator: .strong("1")),
            MemorySource([], validator: .strong("1")),
            MemorySource(self.bytes, validator: .weak("1")), pipeSource(Data(self.bytes)),
        ]
        for source in wholes {
            #expect(try await store.uploader().begin(source, to: Self.object, BlobContext()) == nil)
        }
        #expect(store.requests.isEmpty)
    }

    /// Lengths and numbers as a damaged line may have them.
    @Test(arguments: [
        (3500, 1000, 0), (3500, 1000, 5), (-1, 1000, 1), (3500, 0, 1), (3500, -1000, 1), (.max, 10, 1), (.max, .max, 2),
    ])
    func aPartThatNoSourceHasIsRefused(byteCount: Int64, partByteCount: Int64, number: Int) async throws {
        let store = try StoringStore()
        let upload = SharedMultipartUpload(
            object: Self.object, identifier: "x", byteCount: byteCount, partByteCount: partByteCount, validator: "1")
        let code = await asyncCodeThrown {
            try await store.uploader().store(number, of: upload, self.source, BlobContext())
        }
        #expect(code == .invalidArgument || code == .limitExceeded)
        #expect(
            await asyncCodeThrown { try await store.uploader().finish(upload, of: { self.source }, BlobContext()) }
                != nil)
        #expect(store.sentParts.isEmpty)
    }

    // MARK: The command

    private struct Line: Decodable {
        let locator: String
        let state: String?
        let part: Int?
        let length, bytes: Int64?
    }

    private func put(
        _ step: String, _ entries: [String], _ store: StoringStore, _ status: Int32 = 0
    ) async throws -> (texts: [String], lines: [Line]) {
        let folder = try TemporaryFolder()
        let list = try folder.write(entries.map { $0 + "\n" }.joined(), to: "list")
        // The steps that open no source need no permission to do it.
        let listed = (["begin", "parts"].contains(step) ? ["--allow-network-in-lists"] : []) + ["--from-file", list]
        let arguments = ["job", step, "s3://bucket/", "--json", "--part-size", "5MiB"] + listed
        let outcome = try await StoreCommand.run(arguments, environment: store.environment)
        #expect(outcome.status == status && outcome.errors.isEmpty, "\(outcome.errors)")
        let texts = outcome.outputText.split(separator: "\n").map(String.init)
        return (texts, texts.compactMap { try? JSONDecoder().decode(Line.self, from: Data($0.utf8)) })
    }

    @Test func theStepsOfTheCommandStoreASourceInParts() async throws {
        let bytes = makeContent(11 << 20)
        let (server, store, folder) = (try ObjectServer(bytes), try StoringStore(), try TemporaryFolder())
        let locator = "http://127.0.0.1:\(server.port)/object"
        let (short, missing) = (try folder.write("short", to: "short"), folder.path("missing"))
        let (entries, parts) = try await self.put("begin", [short, locator, missing], store)
        #expect(entries.count == 5 && entries.first == short && entries.last == missing)
        #expect(parts.map(\.part) == [1, 2, 3] && parts.map(\.length) == [5 << 20, 5 << 20, 1 << 20])
        // In any order, one more than once, and before the rest is there.
        let some = try await self.put("parts", [entries[3], entries[0], entries[1], entries[3]], store)
        #expect(some.lines.map(\.part) == [3, nil, 1, 3] && some.lines.allSatisfy { $0.state == "stored" })
        #expect(some.lines.map(\.bytes) == [1 << 20, 5, 5 << 20, 1 << 20])
        let others = try await self.put("parts", [entries[4], entries[2]], store, 1)
        #expect(others.lines.map(\.state) == ["failed", "stored"] && others.lines[0].locator == missing)
        for state in ["stored", "exists"] {
            let ended = try await self.put("finish", [entries[1]], store)
            #expect(ended.lines.map(\.state) == [state] && ended.lines[0].bytes == 11 << 20)
        }
        let objects = store.objects
        #expect(objects.count == 2 && objects.values.contains { $0 == bytes } && store.uploads.isEmpty)
    }

    @Test func aSourceWhosePartIsMissingLeavesNothing() async throws {
        let (server, store) = (try ObjectServer(makeContent(6 << 20)), try StoringStore())
        let locator = "http://127.0.0.1:\(server.port)/object"
        for (step, state, status) in [("finish", "failed", Int32(1)), ("abort", "aborted", 0)] {
            let (entries, _) = try await self.put("begin", [locator], store)
            _ = try await self.put("parts", [entries[1]], store)
            #expect(store.uploads.count == 1)
            let ended = try await self.put(step, [entries[0]], store, status)
            #expect(ended.lines.map(\.state) == [state] && ended.lines[0].locator == locator)
            #expect(store.uploads.isEmpty && store.objects.isEmpty)
        }
        let none = try await self.put("finish", ["{\"locator\":\"x\"}", locator], store, 1)
        #expect(none.lines.map(\.state) == ["failed", "failed"])
    }

    @Test func stepsNeedAStoreAndPartsThatItHas() async throws {
        for arguments in [["begin", "http://127.0.0.1:1/"], ["put", "s3://bucket/", "--part-size", "1MiB"]] {
            let outcome = try await StoreCommand.run(["job"] + arguments + ["x"])
            #expect(outcome.status == 64, "\(outcome.errors)")
        }
    }
}
