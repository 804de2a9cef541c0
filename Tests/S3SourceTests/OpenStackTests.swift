import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

/// The path of the file with the objects; nil without a store.
private let objectList = ProcessInfo.processInfo.environment["BLOBSTREAMS_S3"]

/// Against OpenStack Swift, which verifies signatures and has its own idea of S3: `make s3-check`.
@Suite(.enabled(if: objectList != nil), .timeLimit(.minutes(5))) struct OpenStackTests {
    private struct Object: Decodable {
        let locator, file: String

        var bytes: [UInt8] { Array(FileManager.default.contents(atPath: self.file) ?? Data()) }
    }

    private let objects: [Object]

    init() throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: objectList ?? "/"))
        self.objects = try JSONDecoder().decode([Object].self, from: data)
    }

    private static func run(_ arguments: String...) async throws -> FinishedProcess {
        try await onThread { try FinishedProcess(productsFolder.appendingPathComponent("blob").path, arguments) }
    }

    @Test func everyObjectIsRead() async throws {
        #expect(self.objects.count == 15)
        for object in self.objects {
            let bytes = object.bytes
            try await onThread { () throws in
                let source = try BlobRegistry.standard.source(for: object.locator)
                #expect(try source.info().byteCount == Int64(bytes.count), "\(object.locator)")
                #expect(try source.info().validator?.isStrong == true)
                #expect(try readAll(source.open()) == bytes, "\(object.locator)")
                #expect(try readAll(source.open(at: Int64(bytes.count / 2))) == Array(bytes[(bytes.count / 2)...]))
            }
        }
    }

    /// An object of two parts, of 12 MiB, over a line that is cut at every MiB.
    @Test func aReadingThatIsCutIsResumed() async throws {
        let object = try #require(self.objects.first { $0.locator.hasSuffix("parts.bin") })
        let endpoint = ProcessInfo.processInfo.environment["AWS_ENDPOINT_URL_S3"] ?? ""
        let port = try #require(UInt16(endpoint.split(separator: ":").last ?? ""))
        let bytes = object.bytes
        try await onThread { () throws in
            let proxy = try FaultProxy(to: port) { _ in .init(toClient: LinkFaults { $0.cutOffset = 1 << 20 }) }
            var options = S3Source.Options()
            options.endpoint = "http://127.0.0.1:\(proxy.port)"
            let source = try S3Source(object.locator, options: options).layered { $0.retry = .impatient }
            #expect(try readAll(source.open()) == bytes)
            #expect(proxy.counts.connectionCount > 12)
        }
    }

    @Test func refusalsHaveTheirErrors() async throws {
        func error(_ locator: String, _ choose: (inout S3Source.Options) -> Void = { _ in }) async throws -> BlobError?
        {
            var options = S3Source.Options()
            choose(&options)
            let source = try S3Source(locator, options: options)
            return await errorThrown { try await onThread { try source.info() } }
        }
        #expect(try await error("s3://bucket/missing")?.code == .notFound)
        #expect(try await error("s3://missing-bucket/key")?.code == .notFound)
        let wrong = try await error("s3://bucket/a+b") {
            $0.credentials = .keys(identifier: "blob:tester", secret: "wrong-secret")
        }
        #expect(wrong?.code == .permissionDenied && wrong?.message.contains("SignatureDoesNotMatch") == true)
        let denied = try await error("s3://bucket/a+b") {
            $0.credentials = .keys(identifier: "blob:reader", secret: "reading")
        }
        #expect(denied?.code == .permissionDenied && denied?.message.contains("AccessDenied") == true)
        // The store tells its region, and the request is signed for that.
        #expect(try await error("s3://bucket/a+b") { $0.region = "eu-west-1" } == nil)
    }

    /// 300 MB in parts, several at once.
    @Test func aLongFileIsStoredInParts() async throws {
        let folder = try TemporaryFolder()
        let piece = makeContent(1_000_000)
        try Data((0..<300).map { _ in Data(piece) }.joined()).write(to: folder.url("long"))
        let stored = try await Self.run("upload", folder.path("long"), "s3://bucket/uploads/long%20file")
        #expect(stored.status == 0 && stored.outputText.hasSuffix("-18  s3://bucket/uploads/long%20file\n"))
        let sums = try await Self.run("sum", "s3://bucket/uploads/long%20file", folder.path("long")).outputText
            .split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64))
    }

    /// The store knows no upload of a source that failed; one that is kept continues.
    @Test func anUploadThatFailsIsAbortedUnlessItIsKept() async throws {
        let (folder, bytes) = (try TemporaryFolder(), makeContent(12 << 20))
        var uploader = try S3Uploader()
        (uploader.partByteCount, uploader.singleByteCount, uploader.maximumPartsAtOnce) = (5 << 20, 0, 1)
        let source = MemorySource(bytes, validator: .strong("1"))
        let failing = FlakySource(source, failingAfter: 3 << 20)
        #expect(await asyncCodeThrown { try await uploader.upload(failing, to: "s3://bucket/failed") } != nil)
        uploader.stateFile = folder.path("state")
        #expect(await asyncCodeThrown { try await uploader.upload(failing, to: "s3://bucket/failed") } != nil)
        let object = try await uploader.upload(source, to: "s3://bucket/failed")
        #expect(object.entityTag.hasSuffix("-3"))
        let stored = try S3Source("s3://bucket/failed")
        #expect(try await onThread { try readAll(stored.open()) } == bytes)
    }

    @Test func aFolderIsStoredByTheExample() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(at: folder.url("c"), withIntermediateDirectories: false)
        for name in ["a b", "c/d", "c/empty"] { try folder.write(name == "c/empty" ? "" : "text of \(name)", to: name) }
        let example = productsFolder.appendingPathComponent("Upload").path
        let arguments = ["folder", folder.url.path, "s3://bucket/a%20folder/"]
        let printed = try await onThread { try FinishedProcess(example, arguments) }
        #expect(printed.status == 0 && printed.outputText.split(separator: "\n").count == 3, "\(printed.errors)")
        for name in ["a b", "c/d", "c/empty"] {
            let text = try await Self.run("cat", "s3://bucket/a%20folder/\(name.replacing(" ", with: "%20"))")
                .outputText
            #expect(text == (name == "c/empty" ? "" : "text of \(name)"))
        }
    }

    @Test func theCommandReadsFromTheStore() async throws {
        let object = try #require(self.objects.first { $0.locator.hasSuffix("a%20b.txt") })
        #expect(try await Self.run("cat", object.locator).output == Data(object.bytes))
        let info = try await Self.run("info", object.locator).outputText
        #expect(info.contains("bytes: \(object.bytes.count)\n") && info.contains("can: random access"))
        let sums = try await Self.run("sum", object.locator, object.file).outputText.split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64))
        let members = try await Self.run("ls", "--index", "none", "s3://bucket/archive.zip").outputText
        #expect(members.split(separator: "\n").count == 200)
        let member = try await Self.run("cat", "s3://bucket/archive.zip#folder/7.txt").outputText
        #expect(member == String(repeating: "member 7\n", count: 500))
        let missing = try await Self.run("cat", "s3://bucket/missing")
        #expect(missing.status == 66 && missing.errors.hasPrefix("blob: notFound: The store answered 404 NoSuchKey"))
        let anonymous = try await Self.run("cat", "--no-sign-request", object.locator)
        #expect(anonymous.status != 0 && anonymous.output.isEmpty)
        let elsewhere = try await Self.run("cat", "--endpoint-url", "http://127.0.0.1:1", object.locator)
        #expect(elsewhere.status == 69)
    }
}
