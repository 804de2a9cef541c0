import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// Objects of a store that verifies signatures.
@Suite struct S3ReadingTests {
    private let bytes = makeContent(300_000)

    @Test(arguments: [0, 1, 65, 5000, 70_000, 200_000]) func aSourceKeepsEveryContract(length: Int) async throws {
        let bytes = Data(makeContent(length))
        let store = try VerifyingStore(Array(bytes))
        let all = await violations(of: try store.source(), expecting: bytes)
        #expect(all.isEmpty, "\(all)")
        let waiting = await violations(of: try store.source().readingAhead(), expecting: bytes)
        #expect(waiting.isEmpty, "\(waiting)")
    }

    /// The path that is sent is the one that is signed.
    @Test(arguments: [
        "a%20b", "a+b", "%C3%BC", "a%23b", "a%3Fb", "a%25b", "a//b", "a/./b", "a/../b", "../..", "/a", "a/", "%FF",
        "a%2Bb~*'()!$&,;=:@", "key?versionId=a%2Fb%20c",
    ]) func keysOfAllKindsAreSignedAsTheyAreSent(key: String) async throws {
        let (store, bytes) = (try VerifyingStore(bytes), bytes)
        try await onThread { () throws in
            #expect(try readAll(store.source("bucket/\(key)").open(at: 7)) == Array(bytes[7...]))
        }
    }

    @Test func theFactsAreThoseOfTheAnswer() async throws {
        let store = try VerifyingStore(bytes)
        let info = try await onThread { try store.source("bucket/folder/a%20b.txt?versionId=x").info() }
        #expect(info.name == "a b.txt" && info.byteCount == 300_000 && info.isRandomAccess)
        #expect(info.validator == .strong("\"one\""))
        #expect(store.server.requests.first?.target == "/bucket/folder/a%20b.txt?versionId=x")
        #expect(store.server.requests.first?.fields["x-amz-security-token"] == "token")
    }

    @Test func aClockThatIsWrongIsCorrectedOnceForAStore() async throws {
        let (store, bytes) = (try VerifyingStore(bytes, secondsAhead: 259_200), bytes)
        try await onThread { () throws in
            #expect(try readAll(store.source().open(at: 299_000)) == Array(bytes[299_000...]))
            #expect(store.server.requests.count == 2)
            #expect(try store.source("bucket/other").info().byteCount == 300_000)
            #expect(store.server.requests.count == 4)
        }
    }

    /// As it is stored, whatever the field says; `aws-chunked` is what some stores keep of an upload.
    @Test(arguments: ["gzip", "aws-chunked", "", "aws-chunked,gzip"])
    func anEncodedObjectIsReadAsItIsStored(encoding: String) async throws {
        let (store, bytes) = (try VerifyingStore(bytes), bytes)
        store.server.object.lines = ["Content-Encoding: \(encoding)"]
        try await onThread { () throws in
            #expect(try readAll(store.source().open()) == bytes)
            #expect(try readAll(store.source().open(at: 299_000)) == Array(bytes[299_000...]))
            let type = encoding.contains("gzip") ? "application/gzip" : "application/octet-stream"
            #expect(try store.source().info().mediaType == type)
        }
    }

    @Test func aRegionIsCorrectedOnce() async throws {
        let (store, bytes) = (try VerifyingStore(bytes, region: "eu-west-1"), bytes)
        try await onThread { () throws in
            #expect(try readAll(store.source().open(at: 299_000)) == Array(bytes[299_000...]))
            #expect(store.server.requests.count == 2)
        }
    }

    /// A store that says the same again and again is asked twice.
    @Test(arguments: ["RequestTimeTooSkewed", "AuthorizationHeaderMalformed"])
    func aCorrectionThatDoesNotHelpIsAnError(code: String) async throws {
        let store = try VerifyingStore(bytes) { number, _, connection in
            let region = "<Region>eu-west-\(number)</Region>"
            connection.send(VerifyingStore.refusal("400 Bad Request", code, region, date: Int64(number)))
            return true
        }
        let error = try await onThread { Result { try store.source().info() } }
        #expect { try error.get() } throws: { ($0 as? BlobError)?.code == .permissionDenied }
        #expect(store.server.requests.count == 2)
    }

    @Test func aWrongSecretIsNoPermission() async throws {
        let keys = AccessKeys(identifier: "AKIDEXAMPLE", secret: "wrong")
        let store = try VerifyingStore(bytes, keys: AccessKeyProvider(keys))
        let error = await errorThrown { try await onThread { try store.source().info() } }
        #expect(error?.code == .permissionDenied && error?.isTransient == false)
        #expect(error?.message == "The store answered 403 SignatureDoesNotMatch: A <message>.")
        #expect(error?.description.contains("wrong") == false && error?.locator == "s3://bucket/key")
        let anonymous = try VerifyingStore(bytes, keys: AccessKeyProvider(nil))
        #expect(await asyncCodeThrown { try await onThread { try anonymous.source().info() } } == .permissionDenied)
        #expect(anonymous.server.requests.first?.fields["authorization"] == nil)
    }

    @Test(
        arguments: [
            ("404 Not Found", "NoSuchKey", BlobError.Code.notFound, false),
            ("404 Not Found", "NoSuchBucket", .notFound, false),
            ("403 Forbidden", "AccessDenied", .permissionDenied, false),
            ("503 Slow Down", "SlowDown", .unavailable, true), ("500 Error", "InternalError", .unavailable, true),
            ("400 Bad Request", "RequestTimeout", .unavailable, true), ("404 Not Found", "Unknown", .notFound, false),
            ("400 Bad Request", "Unknown", .refused, false),
            ("403 Forbidden", "InvalidObjectState", .unsupported, false),
            ("301 Moved", "PermanentRedirect", .refused, false),
        ])
    func aCodeHasItsError(status: String, code: String, expected: BlobError.Code, isTransient: Bool) async throws {
        let store = try VerifyingStore(bytes) { _, _, connection in
            connection.send(VerifyingStore.refusal(status, code))
            return true
        }
        let error = await errorThrown { try await onThread { try store.source().info() } }
        #expect(error?.code == expected && error?.isTransient == isTransient)
        #expect(error?.message.contains(code) == true && error?.message.contains("hidden") == false)
    }

    @Test func aStoreThatIsBusyIsTriedAgain() async throws {
        let bytes = bytes
        let store = try VerifyingStore(bytes) { number, _, connection in
            if number < 2 { connection.send(VerifyingStore.refusal("503 Slow Down", "SlowDown")) }
            return number < 2
        }
        try await onThread { () throws in
            #expect(try readAll(store.source().layered { $0.retry = .impatient }.open()) == bytes)
        }
    }

    @Test func anEmptyObjectMayBeARangeThatIsRefusedWithoutALength() async throws {
        let store = try VerifyingStore([]) { _, request, connection in
            guard request.fields["range"] != nil else { return false }
            connection.send(VerifyingStore.refusal("416 Requested Range Not Satisfiable", "InvalidRange"))
            return true
        }
        try await onThread { () throws in
            #expect(try store.source().info().byteCount == 0)
            #expect(try readAll(store.source().open()) == [])
        }
        // A store that refuses anything is not asked again and again.
        let other = try VerifyingStore([]) { _, _, connection in
            connection.send(VerifyingStore.refusal("416 Requested Range Not Satisfiable", "InvalidRange"))
            return true
        }
        #expect(await asyncCodeThrown { try await onThread { try other.source().info() } } == .refused)
        #expect(other.server.requests.count == 2)
    }

    @Test func anObjectThatIsReplacedIsAChange() async throws {
        let store = try VerifyingStore(bytes)
        let error = await errorThrown {
            try await onThread { () throws in
                let reader = try store.source().open()
                _ = try read(reader)
                store.server.object.bytes = makeContent(300_004).suffix(300_000)
                store.server.object.tag = "\"two\""
                return try readAll(reader)
            }
        }
        #expect(error?.code == .changed)
        #expect(store.server.requests.last?.fields["if-match"] == "\"one\"")
    }

    @Test func wrappersApplyToObjects() async throws {
        let encoded = try await GzipEncodedSource(MemorySource(bytes)).data(upTo: 1 << 20)
        let (store, bytes) = (try VerifyingStore(Array(encoded)), bytes)
        var registry = BlobRegistry.standard
        try registry.register(store.provider, replacing: true)
        let source = try registry.source(for: "gzip+s3://bucket/x.gz")
        #expect(try await source.data(upTo: 1 << 20) == Data(bytes))
    }
}
