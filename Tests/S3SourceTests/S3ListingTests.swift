import BlobCore
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

@testable import S3Source

/// Lists of objects, as a store in this process answers them.
@Suite(.timeLimit(.minutes(2))) struct S3ListingTests {
    /// A page with these objects, and the token of the next one.
    private static func page(_ keys: [String], next: String? = nil, encoding: String = "url") -> String {
        let objects = keys.enumerated().map { number, key in
            "<Contents><Key>\(key)</Key><LastModified>2024-01-31T23:59:0\(number).000Z</LastModified>"
                + "<Size>\(number + 10)</Size></Contents>"
        }
        let type = encoding.isEmpty ? "" : "<EncodingType>\(encoding)</EncodingType>"
        let token = next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? ""
        return StoringStore.document(
            "<ListBucketResult xmlns=\"x\">\(type)<IsTruncated>\(next != nil)</IsTruncated>\(token)"
                + "\(objects.joined())</ListBucketResult>")
    }

    private func listing(_ store: StoringStore, _ locator: String) throws -> S3Listing {
        let endpoint = try S3Endpoint("http://127.0.0.1:\(store.port)")
        let settings = S3Service(
            endpoint, AccessKeyProvider(VerifyingStore.keys), region: "us-east-1", BlobTransferSettings())
        return try S3Listing(BlobLocator(locator), settings)
    }

    private func locators(_ listing: S3Listing) async throws -> [String] {
        var (locators, position): ([String], String?) = ([], nil)
        repeat {
            let page = try await listing.page(position, BlobContext())
            locators += page.objects.map(\.locator)
            position = page.next
        } while position != nil
        return locators
    }

    @Test func pagesFollowEachOther() async throws {
        let store = try StoringStore { number, _ in
            .answer([Self.page(["p/a", "p/b"], next: "to+k/en ="), Self.page(["p/c"])][number])
        }
        let listing = try self.listing(store, "s3://bucket/p/")
        #expect(try await self.locators(listing) == ["s3://bucket/p/a", "s3://bucket/p/b", "s3://bucket/p/c"])
        #expect(
            store.lines == [
                "GET /bucket/?list-type=2&encoding-type=url&prefix=p%2F",
                "GET /bucket/?list-type=2&encoding-type=url&prefix=p%2F&continuation-token=to%2Bk%2Fen%20%3D",
            ])
        let whole = try StoringStore { _, _ in .answer(Self.page(["x"])) }
        for bucket in ["s3://bucket", "s3://bucket/"] {
            #expect(try await self.locators(self.listing(whole, bucket)) == ["s3://bucket/x"])
        }
        #expect(Set(whole.lines) == ["GET /bucket/?list-type=2&encoding-type=url"])
    }

    @Test func objectsHaveLengthsAndTimes() async throws {
        let store = try StoringStore { _, _ in .answer(Self.page(["a"])) }
        let object = try await self.listing(store, "s3://bucket/").page(nil, BlobContext()).objects.first
        #expect(object?.byteCount == 10)
        #expect(object?.modificationTime == Date(timeIntervalSince1970: 1_706_745_540))
    }

    /// The locators name the same keys again.
    @Test(arguments: [
        ("a+b%2Bc", "url", "a b+c"), ("%23%3F%25%0A%C3%A9", "url", "#?%\né"), ("a+b%2B&amp;", "", "a+b%2B&"),
        ("d//e/../", "url", "d//e/../"),
    ])
    func keysHaveAnyCharacters(listed: String, encoding: String, key: String) async throws {
        let store = try StoringStore { _, _ in .answer(Self.page([listed], encoding: encoding)) }
        let locator = try #require(try await self.locators(self.listing(store, "s3://bucket/")).first)
        #expect(try S3Address(BlobLocator(locator)).key == Array(key.utf8))
    }

    @Test(arguments: [
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "<Other/>", "no document",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size></Contents>"
            + "</ListBucketResult>",
    ])
    func aListThatIsNotOneIsCorrupted(document: String) async throws {
        let store = try StoringStore { _, _ in .answer(StoringStore.document(document)) }
        let listing = try self.listing(store, "s3://bucket/p/")
        await #expect { try await listing.page(nil, BlobContext()) } throws: {
            let error = $0 as? BlobError
            return error?.code == .corrupted && error?.locator == "s3://bucket/p/" && error?.operation == "read"
        }
        #expect(store.requests.count == 1)
    }

    @Test func aTokenThatRepeatsEndsTheList() async throws {
        let store = try StoringStore { _, _ in .answer(Self.page(["a"], next: "same")) }
        let listing = try self.listing(store, "s3://bucket/")
        await #expect { try await self.locators(listing) } throws: { ($0 as? BlobError)?.code == .corrupted }
        #expect(store.requests.count == 2)
    }

    @Test(arguments: [
        ("NoSuchBucket", "404 Not Found", BlobError.Code.notFound),
        ("AccessDenied", "403 Forbidden", .permissionDenied),
    ])
    func aRefusalHasItsCode(code: String, status: String, expected: BlobError.Code) async throws {
        let store = try StoringStore { _, _ in .answer(StoringStore.error(code, status)) }
        let listing = try self.listing(store, "s3://bucket/p/")
        await #expect { try await listing.page(nil, BlobContext()) } throws: { ($0 as? BlobError)?.code == expected }
    }

    /// The same is repeated when a store is busy, and signed for it: it checks signatures itself.
    @Test func aBusyStoreIsAskedAgain() async throws {
        let store = try StoringStore { number, _ in
            number == 0 ? .answer(StoringStore.error("SlowDown", "503 Slow Down")) : .serve
        }
        let listing = try self.listing(store, "s3://bucket/p/")
        // It knows no lists.
        await #expect(throws: BlobError.self) { try await listing.page(nil, BlobContext()) }
        #expect(store.requests.count > 1)
    }

    @Test func aVersionIsNoPrefix() throws {
        #expect(throws: BlobError.self) {
            try S3Listing(BlobLocator("s3://bucket/p/?versionId=1"), options: S3Source.Options())
        }
    }

    @Test func theCommandListsAStore() async throws {
        let store = try StoringStore { _, request in
            request.query.isEmpty
                ? .serve
                : request.parameter("continuation-token") == nil
                    ? .answer(Self.page(["p/a+b"], next: "t")) : .answer(Self.page(["p/%23"]))
        }
        let plain = try await StoreCommand.run(["ls", "s3://bucket/p/"], environment: store.environment)
        #expect(plain.outputText == "s3://bucket/p/a%20b\ns3://bucket/p/%23\n", "\(plain.errors)")
        let long = try await StoreCommand.run(["ls", "-l", "s3://bucket/p/"], environment: store.environment)
        #expect(long.outputText.contains("          10 2024-01-31 23:59 s3://bucket/p/a%20b\n"), "\(long.outputText)")
        let json = try await StoreCommand.run(["ls", "--json", "s3://bucket/p/"], environment: store.environment)
        #expect(
            json.outputText.hasPrefix(
                #"{"byte_count":10,"kind":"file","modification_time":"2024-01-31T23:59:00Z","name":"s3://bucket/p/a%20b"}"#
            ), "\(json.outputText)")
        let empty = try StoringStore { _, _ in .answer(StoringStore.error("NoSuchBucket", "404 Not Found")) }
        let missing = try await StoreCommand.run(["ls", "s3://bucket"], environment: empty.environment)
        #expect(missing.status == 66 && missing.errors.contains("NoSuchBucket"), "\(missing.errors)")
    }
}
