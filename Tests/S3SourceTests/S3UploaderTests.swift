import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

@testable import S3Source

/// Uploads to a store that verifies signatures and digests, and fails as each test says. A part has 1,000 bytes.
@Suite(.timeLimit(.minutes(3))) struct S3UploaderTests {
    private let bytes = makeContent(3500)

    private var source: MemorySource { MemorySource(self.bytes, mediaType: "text/plain", validator: .strong("1")) }

    /// A source that is read once, from its start.
    private static func pipe(_ bytes: [UInt8]) -> any BlobInputStreamDataSource { pipeSource(Data(bytes)) }

    @Test(arguments: [0, 1, 999, 1000, 1001, 1999, 2000, 2001, 10_000])
    func everyLengthArrives(length: Int) async throws {
        let bytes = makeContent(length)
        for source in [MemorySource(bytes), Self.pipe(bytes), OneReaderSource(base: MemorySource(bytes))]
            as [any BlobInputStreamDataSource]
        {
            let store = try StoringStore()
            let object = try await store.uploader().upload(source, to: "s3://bucket/key")
            #expect(store.object == bytes && store.uploads.isEmpty)
            #expect(object.byteCount == length && object.locator == "s3://bucket/key")
            // A pipe of exactly one part ends only after it.
            let isSingle = length < 1000 || length == 1000 && source.traits.contains(.repeatable)
            #expect(object.entityTag.contains("-") == !isSingle)
            #expect(store.requests.count == (isSingle ? 1 : 2 + (length + 999) / 1000))
        }
    }

    @Test func theRequestsOfAnUploadInPartsAreThose() async throws {
        let store = try StoringStore()
        var uploader = try store.uploader()
        uploader.maximumPartsAtOnce = 1
        uploader.fields = [BlobHTTPField("Cache-Control", "no-store"), BlobHTTPField("x-amz-meta-a", "b")]
        let progress = Recorder<Int64>()
        uploader.onProgress = { sent, byteCount in
            #expect(byteCount == 3500)
            progress.append(sent)
        }
        _ = try await uploader.upload(self.source, to: "s3://bucket/key")
        let id = "uploadId=an%20id%2F1%26"
        #expect(
            store.lines == ["POST /bucket/key?uploads"]
                + (1...4).map { "PUT /bucket/key?partNumber=\($0)&\(id)" } + ["POST /bucket/key?\(id)"])
        let (first, part) = (store.requests[0].fields, store.requests[1])
        #expect(first["content-type"] == "text/plain" && first["cache-control"] == "no-store")
        #expect(first["x-amz-meta-a"] == "b" && part.fields["x-amz-meta-a"] == nil)
        #expect(part.fields["content-length"] == "1000" && part.body == Array(self.bytes[..<1000]))
        #expect(part.fields["x-amz-content-sha256"] == StoringStore.digest(.sha256, part.body).hexadecimal)
        #expect(store.requests.last?.fields["x-amz-security-token"] == "token")
        let values = progress.values
        #expect(values.last == 3500 && values == values.sorted())
    }

    /// Parts of more than 64 KiB: an early success on a shared connection would not be noticed without a digest.
    @Test(arguments: [(opaque: false, checksums: false), (true, true), (true, false)])
    func partsShareAConnectionIfTheStoreProvesThem(opaque: Bool, checksums: Bool) async throws {
        let store = try StoringStore(
            state: StoringStore.State(knowsChecksums: checksums, hasOpaqueTags: opaque))
        var uploader = try store.uploader()
        (uploader.partByteCount, uploader.maximumPartsAtOnce) = (90_000, 1)
        let bytes = makeContent(900_000)
        _ = try await uploader.upload(MemorySource(bytes), to: "s3://bucket/key")
        #expect(store.object == bytes)
        // One for the first part, one for all others, and one each for the other requests.
        let proves = !opaque || checksums
        #expect(proves ? store.connectionCount <= 5 : store.connectionCount >= 10, "\(store.connectionCount)")
    }

    @Test func aShortObjectIsOneRequest() async throws {
        let store = try StoringStore()
        var uploader = try store.uploader()
        uploader.fields = [BlobHTTPField("Content-Type", "text/html")]
        _ = try await uploader.upload(MemorySource(self.bytes.prefix(7)), to: "s3://bucket/a/../%C3%BC%20x+y")
        #expect(store.lines == ["PUT /bucket/a/../%C3%BC%20x%2By"])
        #expect(store.requests.first?.fields["content-type"] == "text/html")
    }

    // MARK: Faults

    @Test(arguments: ["POST", "PUT", "COMPLETE", "HEAD"]) func aStoreThatIsBusyIsAskedAgain(method: String) async throws
    {
        let failures = Locked(2)
        let store = try StoringStore { _, request in
            let isCompletion = request.method == "POST" && request.parameter("uploadId") != nil
            guard (isCompletion ? "COMPLETE" : request.method) == method, failures.withLock({ $0 }) > 0 else {
                return .serve
            }
            failures.withLock { $0 -= 1 }
            return .answer(StoringStore.error("SlowDown", "503 Slow Down"))
        }
        var uploader = try store.uploader()
        let retries = Recorder<BlobError.Code>()
        uploader.onRetry = { retries.append($0.code) }
        _ = try await uploader.upload(self.source, to: "s3://bucket/key")
        #expect(store.object == self.bytes && store.uploads.isEmpty)
        #expect(retries.values == (method == "HEAD" ? [] : [.unavailable, .unavailable]))
    }

    /// Part 1 is refused five times, each time after another part was stored.
    @Test func repetitionsBeginAfreshWhenThePartsBesideAreStored() async throws {
        let (tries, arrivals) = ((0...5).map { _ in Latch() }, (0...8).map { _ in Latch() })
        let store = try StoringStore { _, request in
            let number = request.parameter("partNumber").flatMap { Int($0) } ?? 0
            arrivals[number].open()
            // It is answered when the refusal before has arrived.
            if (3...7).contains(number) { tries[number - 2].wait() }
            guard number == 1, let count = tries.firstIndex(where: { !$0.isOpen }) else { return .serve }
            tries[count].open()
            guard count < 5 else { return .serve }
            // The client sends the part after the next one when it knows that the next one is stored.
            arrivals[count + 3].wait()
            return .answer(StoringStore.error("SlowDown", "503 Slow Down"))
        }
        var uploader = try store.uploader()
        (uploader.maximumPartsAtOnce, uploader.maximumRetryCount) = (2, 1)
        let bytes = makeContent(7500)
        _ = try await uploader.upload(MemorySource(bytes), to: "s3://bucket/key")
        #expect(store.object == bytes && store.sentParts.count { $0 == 1 } == 6)
    }

    /// The store tells the time, by which the request is signed once more.
    @Test func aClockThatIsWrongIsCorrected() async throws {
        let (date, body) = ("Thu, 01 Jan 2026 00:00:00 GMT", "<Error><Code>RequestTimeTooSkewed</Code></Error>")
        let store = try StoringStore { number, request in
            guard number > 0 else {
                let head = StoringStore.head("403 Forbidden", ["Date: \(date)"], byteCount: body.utf8.count)
                return .answer(head + body)
            }
            #expect(request.fields["x-amz-date"]?.hasPrefix("20260101T00") == true)
            return .answer(StoringStore.error("AccessDenied", "403 Forbidden"))
        }
        var uploader = try store.uploader()
        uploader.maximumRetryCount = 0
        let code = await asyncCodeThrown { [uploader] in try await uploader.upload(self.source, to: "s3://bucket/key") }
        #expect(code == .permissionDenied)
        #expect(store.requests.count == 2)
    }

    @Test func anErrorInASuccessIsAnError() async throws {
        let store = try StoringStore { _, request in
            let isCompletion = request.method == "POST" && request.parameter("uploadId") != nil
            return isCompletion ? .answer(StoringStore.error("InvalidPart", "200 OK")) : .serve
        }
        let error = await errorThrown { try await store.uploader().upload(self.source, to: "s3://bucket/key") }
        #expect(error?.message == "The store answered 200 InvalidPart: No." && error?.locator == "s3://bucket/key")
        #expect(store.object == nil && store.uploads.isEmpty)
    }

    @Test func aTransientErrorInASuccessIsRepeated() async throws {
        let isFirst = Locked(true)
        let store = try StoringStore { _, request in
            let isCompletion = request.method == "POST" && request.parameter("uploadId") != nil
            let fails = isCompletion && isFirst.exchange(false)
            return fails ? .answer(StoringStore.error("InternalError", "200 OK")) : .serve
        }
        _ = try await store.uploader().upload(self.source, to: "s3://bucket/key")
        #expect(store.object == self.bytes && store.uploads.isEmpty)
    }

    /// The second completion finds no upload, and the object shows why.
    @Test func anAnswerThatIsLostIsNoLostObject() async throws {
        let isFirst = Locked(true)
        let store = try StoringStore { _, request in
            let isCompletion = request.method == "POST" && request.parameter("uploadId") != nil
            return isCompletion && isFirst.exchange(false) ? .serveSilently : .serve
        }
        let object = try await store.uploader().upload(self.source, to: "s3://bucket/key")
        #expect(store.object == self.bytes && object.byteCount == 3500 && object.entityTag.hasSuffix("-4"))
        #expect(store.lines.suffix(2) == ["POST /bucket/key?uploadId=an%20id%2F1%26", "HEAD /bucket/key"])
    }

    @Test(arguments: [200, 403, 404]) func anAnswerWithoutSenseIsAnErrorAndNoLoop(status: Int) async throws {
        for body in ["", "<", "<a/>", "<InitiateMultipartUploadResult/>", "{}"] {
            let store = try StoringStore { _, _ in
                .answer(StoringStore.head("\(status) X", byteCount: body.utf8.count) + body)
            }
            let error = await errorThrown { try await store.uploader().upload(self.source, to: "s3://bucket/key") }
            #expect(error?.code == (status == 200 ? .corrupted : status == 403 ? .permissionDenied : .notFound))
            #expect(store.requests.count == 1)
        }
    }

    @Test func aStoreThatHasOtherBytesIsFound() async throws {
        let store = try StoringStore { _, request in
            request.parameter("partNumber") == "2"
                ? .answer(StoringStore.head("200 OK", ["ETag: \"0123456789abcdef0123456789abcdef\""])) : .serve
        }
        let error = await errorThrown { try await store.uploader().upload(self.source, to: "s3://bucket/key") }
        #expect(error?.code == .checksumMismatch && store.object == nil && store.uploads.isEmpty)
    }

    /// The tags of encrypted parts are no digests; the object is compared by its length and tag.
    @Test func encryptedObjectsAreCheckedByTheirLength() async throws {
        let tag = "0123456789abcdef0123456789abcdef"
        for byteCount in [7, 8] {
            let store = try StoringStore { _, request in
                let lines = ["ETag: \"\(tag)\"", "x-amz-server-side-encryption: aws:kms"]
                if request.method == "HEAD" { return .answer(StoringStore.head("200 OK", lines, byteCount: byteCount)) }
                return .answer(StoringStore.head("200 OK", lines))
            }
            let error = await errorThrown {
                try await store.uploader().upload(MemorySource(self.bytes.prefix(7)), to: "s3://bucket/key")
            }
            #expect(error?.code == (byteCount == 7 ? nil : .changed))
        }
    }

    // MARK: Sources that fail

    @Test func aSourceThatChangesLeavesNothing() async throws {
        let source = ChangingSource(self.bytes)
        let store = try StoringStore { _, request in
            if request.parameter("partNumber") == "2" { source.change() }
            return .serve
        }
        var uploader = try store.uploader()
        uploader.maximumPartsAtOnce = 1
        let error = await errorThrown { try await uploader.upload(source, to: "s3://bucket/key") }
        #expect(error?.code == .changed && store.object == nil && store.uploads.isEmpty)
        #expect(store.lines.last?.hasPrefix("GET ") == true && store.sentParts == [1, 2])
    }

    @Test(arguments: [0, 999, 1000, 2500]) func aSourceThatEndsTooEarlyLeavesNothing(length: Int) async throws {
        let bytes = Data(self.bytes.prefix(length))
        let store = try StoringStore()
        let source = pipeSource(bytes, info: BlobInfo(byteCount: 3500))
        let error = await errorThrown { try await store.uploader().upload(source, to: "s3://bucket/key") }
        // The guard finds what the pipe did not.
        #expect(error?.code == .misbehavingPlugin)
        #expect(store.object == nil && store.uploads.isEmpty)
        let flaky = FlakySource(self.source, failingAfter: 700)
        let other = await errorThrown { try await store.uploader().upload(flaky, to: "s3://bucket/key") }
        #expect(other?.code == .unavailable && store.object == nil && store.uploads.isEmpty)
    }

    @Test func aCancelledUploadIsAborted() async throws {
        for cancelsTask in [true, false] {
            let (arrived, context) = (Latch(), BlobContext())
            let released = Latch()
            let store = try StoringStore { _, request in
                if request.parameter("partNumber") == "3" {
                    arrived.open()
                    released.wait()
                }
                return .serve
            }
            let uploader = try store.uploader()
            let task = Task { try await uploader.upload(self.source, to: "s3://bucket/key", context: context) }
            await arrived.opened()
            if cancelsTask { task.cancel() } else { context.cancellation.cancel() }
            let error = await errorThrown { try await task.value }
            released.open()
            #expect(error?.code == .cancelled && store.object == nil && store.uploads.isEmpty)
            #expect(store.requests.contains { $0.method == "DELETE" })
        }
    }

    @Test func aSourceOfTooManyPartsIsRefused() async throws {
        let store = try StoringStore()
        let uploader = try store.uploader(maximumCount: 3)
        let error = await errorThrown { try await uploader.upload(Self.pipe(self.bytes), to: "s3://bucket/key") }
        #expect(error?.code == .limitExceeded && store.object == nil && store.uploads.isEmpty)
        // Of known length, it has larger parts.
        _ = try await uploader.upload(self.source, to: "s3://bucket/key")
        #expect(store.object == self.bytes && store.requests.last { $0.method == "PUT" }?.body.count ?? 0 > 1000)
    }

    @Test(arguments: ["s3://bucket", "s3://bucket/", "s3://bucket/key?versionId=1", "http://bucket/key", "s3://b/k#x"])
    func aLocatorOfNoObjectIsInvalid(text: String) async throws {
        let store = try StoringStore()
        #expect(await asyncCodeThrown { try await store.uploader().upload(self.source, to: text) } == .invalidLocator)
        #expect(store.requests.isEmpty)
    }

    @Test func settingsThatCannotBeUsedAreErrors() async throws {
        let changes: [(inout S3Uploader) -> Void] = [
            { $0.partByteCount = 9 }, { $0.partByteCount = 100_001 }, { $0.maximumPartsAtOnce = 0 },
            { $0.rateLimit = 0 }, { $0.maximumRetryCount = -1 }, { $0.fields = [BlobHTTPField("Host", "x")] },
            { $0.fields = [BlobHTTPField("x-amz-meta-a", "b\r\nc")] },
        ]
        let store = try StoringStore()
        for change in changes {
            var uploader = try store.uploader()
            change(&uploader)
            let code = await asyncCodeThrown { [uploader] in
                try await uploader.upload(self.source, to: "s3://bucket/key")
            }
            #expect(code == .invalidArgument)
        }
        #expect(store.requests.isEmpty)
    }
}

/// A source whose content becomes another one.
private final class ChangingSource: BlobInputStreamDataSource {
    private let bytes: [UInt8]
    private let version = Locked(1)
    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func change() { self.version.withLock { $0 += 1 } }

    private var current: MemorySource {
        MemorySource(self.bytes, validator: .strong("\(self.version.withLock { $0 })"))
    }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.current.describe(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.current.makeBody(opening) }
}
