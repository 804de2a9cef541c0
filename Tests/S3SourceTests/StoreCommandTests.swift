import BlobCore
import BlobTestSupport
import Foundation
import Testing

/// `blob upload` to a store in this process, with parts of 16 MiB.
@Suite(.timeLimit(.minutes(5))) struct StoreCommandTests {
    /// Two parts.
    private static let bytes = makeContent(17 << 20)

    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func makeFile() throws -> String { try self.folder.write(Self.bytes, to: "x") }

    /// A store that says when the second part has arrived, and refuses it once `released` is open.
    private func store(
        _ arrived: Latch, _ released: Latch, _ script: @escaping StoringStore.Script = { _, _ in .serve }
    ) throws -> StoringStore {
        try StoringStore { number, request in
            if request.parameter("partNumber") == "2", !released.isOpen {
                arrived.open()
                released.wait()
                return .answer(StoringStore.error("InternalError", "500 Internal Server Error"))
            }
            return script(number, request)
        }
    }

    @Test func aFormIsStored() async throws {
        let (store, path) = (try StoringStore(), try self.makeFile())
        let form = ["-F", "a=b", "-F", "f=@\(path)", "--boundary=cut"]
        for arguments in [[], ["--resumable", "s3", "--state", self.folder.path("state")]] {
            let stored = try await StoreCommand.run(
                ["upload"] + form + arguments + ["s3://bucket/key"], environment: store.environment)
            #expect(stored.status == 0 && stored.outputText.hasSuffix("-2  s3://bucket/key\n"), "\(stored.errors)")
            let expected = try await StoreCommand.run(["form"] + form).output
            let isEqual = store.object == Array(expected)
            #expect(isEqual)
            let type = store.requests.first?.fields["content-type"]
            #expect(type == "multipart/form-data; boundary=cut")
            store.forgetRequests()
        }
        let other = try await StoreCommand.run(
            ["upload", "-F", "a=b", "--resumable", "s3", "s3://bucket/key"], environment: store.environment)
        #expect(other.status == 64 && other.errors.contains("a form requires --boundary"))
        #expect(store.requests.isEmpty)
    }

    /// The store refuses the first abort, and asks for two seconds.
    @Test func anInterruptLeavesNothing() async throws {
        let (arrived, released, isFirst) = (Latch(), Latch(), Locked(true))
        let store = try self.store(arrived, released) { _, request in
            guard request.method == "DELETE", isFirst.exchange(false) else { return .serve }
            return .answer(StoringStore.head("503 Slow Down", ["Retry-After: 2"]))
        }
        let ended = try await StoreCommand.interrupt(
            ["upload", try self.makeFile(), "s3://bucket/key"], environment: store.environment
        ) { await arrived.opened() }
        #expect(ended.status == 130 && ended.errors.contains("blob: cancelled: "), "\(ended)")
        #expect(store.uploads.isEmpty && store.object == nil)
        #expect(store.requests.count { $0.method == "DELETE" } > 1)
        released.open()
    }

    /// The store never answers to the abort, which would take 30 seconds.
    @Test func aSecondInterruptEndsTheAbort() async throws {
        let (arrived, released, asked) = (Latch(), Latch(), Latch())
        let store = try self.store(arrived, released) { _, request in
            guard request.method == "DELETE" else { return .serve }
            asked.open()
            released.wait()
            return .serve
        }
        let start = Locked(ContinuousClock.now)
        let ended = try await StoreCommand.interrupt(
            ["upload", try self.makeFile(), "s3://bucket/key"], environment: store.environment,
            after: { await arrived.opened() },
            and: {
                await asked.opened()
                start.withLock { $0 = .now }
            })
        #expect(ended.status == 130 && ended.errors.contains("blob: cancelled: "), "\(ended)")
        #expect(ContinuousClock.now - start.withLock { $0 } < .seconds(20))
        released.open()
    }

    @Test func anInterruptOfAResumableUploadLeavesItsParts() async throws {
        let (arrived, released) = (Latch(), Latch())
        let store = try self.store(arrived, released)
        let arguments = [
            "upload", "--resumable", "s3", "--state", self.folder.path("state"), "--jobs", "1",
            try self.makeFile(), "s3://bucket/key",
        ]
        let ended = try await StoreCommand.interrupt(arguments, environment: store.environment) {
            await arrived.opened()
        }
        #expect(ended.status == 130, "\(ended)")
        #expect(store.uploads.count == 1 && self.folder.names == ["state", "x"])
        released.open()
        store.forgetRequests()
        let stored = try await StoreCommand.run(arguments, environment: store.environment)
        #expect(stored.status == 0, "\(stored.errors)")
        let isEqual = store.object == Self.bytes
        #expect(isEqual && store.sentParts.suffix(1) == [2] && !store.sentParts.contains(1))
        #expect(store.uploads.isEmpty && self.folder.names == ["x"])
    }

    @Test func theFieldsOfAnObjectAreThoseOfTheCommand() async throws {
        let store = try StoringStore()
        let path = try self.folder.write("<!DOCTYPE html>", to: "page.html")
        let own = try await StoreCommand.run(
            ["upload", path, "s3://bucket/key", "-H", "Content-Type: text/x", "-H", "x-amz-meta-a: b"],
            environment: store.environment)
        #expect(own.status == 0, "\(own.errors)")
        let found = try await StoreCommand.run(["upload", path, "s3://bucket/key"], environment: store.environment)
        #expect(found.status == 0, "\(found.errors)")
        #expect(store.requests.map { $0.fields["content-type"] } == ["text/x", "text/html"])
        #expect(store.requests.map { $0.fields["x-amz-meta-a"] } == ["b", nil])
        for field in ["Host: x", "Content-MD5: x", "Authorization: x"] {
            let refused = try await StoreCommand.run(
                ["upload", path, "s3://bucket/key", "-H", field], environment: store.environment)
            #expect(refused.status == 64, "\(refused.errors)")
        }
        #expect(store.requests.count == 2)
    }

    @Test func theOptionsOfTheStoreAreThoseOfTheCommand() async throws {
        let store = try StoringStore()
        let path = try self.folder.write("text", to: "small")
        var environment = store.environment
        environment["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:1"
        let endpoint = ["--endpoint-url", "http://127.0.0.1:\(store.port)"]
        let stored = try await StoreCommand.run(
            ["upload", path, "s3://bucket/key"] + endpoint, environment: environment)
        #expect(stored.status == 0 && stored.outputText.hasSuffix("  s3://bucket/key\n"), "\(stored.errors)")
        let unsigned = try await StoreCommand.run(
            ["upload", path, "s3://bucket/key", "--no-sign-request"] + endpoint, environment: environment)
        #expect(unsigned.status == 77 && unsigned.errors.contains("403 AccessDenied"), "\(unsigned.errors)")
        #expect(store.requests.last?.fields["authorization"] == nil)
        _ = try await StoreCommand.run(
            ["upload", path, "s3://bucket/key", "--region", "eu-west-1"] + endpoint, environment: environment)
        #expect(store.requests.last?.fields["authorization"]?.contains("/eu-west-1/s3/aws4_request") == true)
    }

    /// Options of web servers are usage errors, and nothing is sent.
    @Test(arguments: [
        ["-X", "POST"], ["--content-encoding", "gzip"], ["--offset", "1"], ["-L"], ["-o", "answer"],
        ["-w", "%{http_code}"], ["-u", "a:b"], ["--skip-existing", "size"], ["--journal", "j"],
        ["--resumable", "tus"], ["--resumable", "draft"], ["--recursive"], ["--state", "s"], ["--jobs", "0"],
        ["--region", "EU"], ["--endpoint-url", "ftp://x"],
    ])
    func optionsOfWebServersAreRefused(options: [String]) async throws {
        let store = try StoringStore()
        let refused = try await StoreCommand.run(
            ["upload", try self.folder.write("", to: "x"), "s3://bucket/key"] + options, environment: store.environment)
        #expect(refused.status == 64 && refused.output.isEmpty, "\(options) \(refused.errors)")
        #expect(store.requests.isEmpty)
    }

    @Test func foldersAndListsAreStored() async throws {
        let store = try StoringStore()
        try FileManager.default.createDirectory(at: self.folder.url("d"), withIntermediateDirectories: false)
        for name in ["d/a b", "d/c"] { try self.folder.write(name, to: name) }
        let list = try self.folder.write("\(self.folder.path("d/c"))\n", to: "list")
        let stored = try await StoreCommand.run(
            ["upload", "--recursive", "--jobs", "2", self.folder.path("d"), "s3://bucket/p/"],
            environment: store.environment)
        #expect(stored.status == 0, "\(stored.errors)")
        let listed = try await StoreCommand.run(
            ["upload", "--from-file", list, self.folder.path("none"), "s3://bucket/q/"],
            environment: store.environment)
        #expect(listed.status == 66 && listed.outputText.hasSuffix("  s3://bucket/q/c\n"), "\(listed.errors)")
        #expect(
            store.lines.sorted() == ["PUT /bucket/p/d/a%20b", "PUT /bucket/p/d/c", "PUT /bucket/q/c"])
    }

    @Test func aFolderIsNotStoredAsOneObject() async throws {
        let store = try StoringStore()
        for name in ["a", "b"] { try self.folder.write(name, to: name) }
        let outcome = try await StoreCommand.run(
            ["upload", self.folder.path, "s3://bucket/key"], environment: store.environment)
        #expect(outcome.status == 64 && outcome.errors.contains("ends with '/'"), "\(outcome.errors)")
        #expect(store.requests.isEmpty)
    }
}
