import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Resumable uploads to a server of tus that fails as each test says.
@Suite struct ResumableUploaderTests {
    private static let byteCount = 3_000_000

    private let bytes = makeContent(byteCount)
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private var statePath: String { self.folder.path("a/state") }

    private func upload(
        _ source: (any BlobInputStreamDataSource)? = nil, to server: TusServer, maximumFailureCount: Int? = nil,
        recoveries: Locked<[BlobError]> = Locked([])
    ) async throws -> String {
        var uploader = ResumableUploader(BlobUploadRequest(.post, server.url))
        uploader.stateFile = UploadStateFile(path: self.statePath)
        uploader.maximumFailureCount = maximumFailureCount
        uploader.onRetry = { error in recoveries.withLock { $0.append(error) } }
        let source = source ?? MemorySource(self.bytes, validator: .strong("1"))
        return try await uploader.upload(source)
    }

    private func failure(
        of source: (any BlobInputStreamDataSource)? = nil, to server: TusServer, maximumFailureCount: Int? = 0
    ) async -> BlobError {
        do {
            _ = try await self.upload(source, to: server, maximumFailureCount: maximumFailureCount)
            Issue.record("It succeeded.")
            return BlobError(.internalError, "No error.")
        } catch {
            return BlobError(wrapping: error)
        }
    }

    @Test func aBodyThatIsCutGoesOnWhereItWasCut() async throws {
        let server = try TusServer { number, method in
            // Some of the questions are lost as well.
            method == "PATCH" && number < 20 || method == "HEAD" && number % 3 == 2 ? .cut(after: number * 9973) : .none
        }
        let recoveries = Locked<[BlobError]>([])
        #expect(try await self.upload(to: server, recoveries: recoveries) == server.url + "/1")
        #expect(recoveries.withLock { $0.count } > 5)
        let isEqual = server.stored == self.bytes
        #expect(isEqual, "\(server.stored.count) bytes")
        #expect(!FileManager.default.fileExists(atPath: self.statePath))
    }

    @Test func aLostAnswerIsAskedFor() async throws {
        let server = try TusServer { number, _ in number == 1 ? .cut(after: .max) : .none }
        _ = try await self.upload(to: server)
        let isEqual = server.stored == self.bytes
        #expect(isEqual, "\(server.stored.count) bytes")
        #expect(server.requests == ["POST", "PATCH", "HEAD"])
    }

    @Test func emptySourcesNeedNoBytes() async throws {
        let server = try TusServer { _, _ in .none }
        _ = try await self.upload(MemorySource([UInt8](), validator: .strong("0")), to: server)
        #expect(server.requests == ["POST"])
        // The media type and the name, in base64.
        #expect(server.metadata == "filename dXBsb2Fk,filetype YXBwbGljYXRpb24vb2N0ZXQtc3RyZWFt")
    }

    @Test func anotherUploaderContinues() async throws {
        let server = try TusServer { number, _ in number == 1 ? .cut(after: 1_000_000) : .none }
        #expect(await self.failure(to: server).code == .io)
        #expect(try self.folder.mode("a/state") == 0o600)
        _ = try await self.upload(to: server)
        #expect(server.requests == ["POST", "PATCH", "HEAD", "PATCH"])
        let isEqual = server.stored == self.bytes
        #expect(isEqual, "\(server.stored.count) bytes")
    }

    @Test(arguments: [
        MemorySource(makeContent(byteCount), validator: .strong("2")), MemorySource([1], validator: .strong("1")),
    ])
    func otherContentBeginsAnew(source: MemorySource) async throws {
        let server = try TusServer { number, _ in number == 1 ? .cut(after: 1_000_000) : .none }
        #expect(await self.failure(to: server).code == .io)
        _ = try await self.upload(source, to: server)
        #expect(server.requests == ["POST", "PATCH", "POST", "PATCH"])
    }

    @Test func everyPrefixOfAStateBeginsAnew() async throws {
        let server = try TusServer { number, _ in number == 1 ? .cut(after: 10) : .none }
        #expect(await self.failure(to: server).code == .io)
        let state = Array(try #require(self.folder.read("a/state")).utf8)
        let file = UploadStateFile(path: self.statePath)
        #expect(file.load()?.byteCount == Int64(Self.byteCount))
        for count in state.indices {
            try self.folder.write(Array(state[..<count]), to: "a/state")
            #expect(file.load() == nil)
        }
    }

    @Test(arguments: [404, 410]) func anUploadThatTheServerLostBeginsAnewOnce(status: Int) async throws {
        let once = try TusServer { number, _ in number == 1 ? .status(status) : .none }
        _ = try await self.upload(to: once)
        #expect(once.requests == ["POST", "PATCH", "POST", "PATCH"])
        let always = try TusServer { _, method in method == "POST" ? .none : .status(status) }
        #expect(await self.failure(to: always).code == .refused)
        #expect(always.requests == ["POST", "PATCH", "POST", "PATCH"])
    }

    @Test func failuresWithoutProgressAreLimited() async throws {
        let server = try TusServer { _, method in method == "POST" ? .none : .status(503) }
        #expect(await self.failure(to: server, maximumFailureCount: 2).code == .refused)
        #expect(server.requests == ["POST", "PATCH", "HEAD", "HEAD"])
        let dripping = try TusServer { number, method in number < 12 && method == "PATCH" ? .cut(after: 9) : .none }
        // Each connection brings progress.
        _ = try await self.upload(to: dripping, maximumFailureCount: 1)
        #expect(dripping.requests.count { $0 == "PATCH" } == 7)
    }

    @Test(arguments: [401, 403, 412, 413, 415]) func aRefusalEndsIt(status: Int) async throws {
        for number in 0...1 {
            let server = try TusServer { $0 >= number ? .status($1 == "" ? 0 : status) : .none }
            #expect(await self.failure(to: server, maximumFailureCount: nil).code == .refused)
            #expect(server.requests.count == number + 1)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation: http://127.0.0.1:1/files/1\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation: file:///x\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation:\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation: https://127.0.0.1/x\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation: http://127.0.0.1./x\r\nContent-Length: 0\r\n\r\n",
    ])
    func aCreationNamesAnUploadOfTheSameServer(answer: String) async throws {
        let server = try TusServer { _, _ in .text(answer) }
        #expect(await self.failure(to: server).code == .corrupted)
        #expect(server.requests == ["POST"])
    }

    /// A server that builds the URL from the host that it knows: it is one origin in all spellings, and its requests
    /// have the credentials of the first URL.
    @Test(arguments: ["http://127.0.0.1:PORT/x/1", "HTTP://127.0.0.1:PORT/x/1", "//127.1:PORT/x/1", "/x/1", "1", "./1"])
    func theUploadOfTheSameServerHasTheCredentials(location: String) async throws {
        let ownerships = Locked<[Bool]>([])
        let port = Locked<Substring>("")
        let server = try ScriptedServer { connection in
            connection.receiveBody(0)
            let head = String(decoding: connection.received.prefix(4096), as: UTF8.self)
            ownerships.withLock { $0.append(head.contains("\r\nAuthorization: Basic dTpw\r\n")) }
            if head.hasPrefix("OPTIONS") { return connection.send("HTTP/1.1 204 No\r\n\r\n") }
            if head.hasPrefix("POST") {
                let place = location.replacingOccurrences(of: "PORT", with: port.withLock { $0 })
                return connection.send(
                    "HTTP/1.1 201 Created\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
            }
            connection.receiveBody(3)
            connection.send("HTTP/1.1 204 No Content\r\nUpload-Offset: 3\r\n\r\n")
        }
        let address = server.url.dropFirst("http://".count)
        port.withLock { $0 = address.split(separator: ":").last?.prefix { $0 != "/" } ?? "" }
        let uploader = ResumableUploader(BlobUploadRequest(.post, "http://u:p@\(address)/"))
        let url = try await uploader.upload(MemorySource("abc".utf8, validator: .strong("1")))
        #expect(url == server.url + "/1")
        #expect(ownerships.withLock { $0 } == [true, true, true])
    }

    /// A state that names a server of its own: no credentials go there.
    @Test func aStateOfAnotherServerBeginsAnew() async throws {
        let server = try TusServer { number, _ in number == 1 ? .cut(after: 10) : .none }
        let other = try TusServer { _, _ in .none }
        #expect(await self.failure(to: server).code == .io)
        let state = try #require(self.folder.read("a/state"))
        try self.folder.write(state.replacingOccurrences(of: server.url + "/1", with: other.url + "/1"), to: "a/state")
        _ = try await self.upload(to: server)
        #expect(server.requests == ["POST", "PATCH", "POST", "PATCH"] && other.requests.isEmpty)
    }

    @Test(arguments: ["-1", "3000001", "", "x", "1\r\nUpload-Length: 5"])
    func anOffsetIsWithinTheSource(offset: String) async throws {
        let server = try TusServer { number, _ in
            [
                1: .cut(after: 10),
                2: .text("HTTP/1.1 200 OK\r\nUpload-Offset: \(offset)\r\nContent-Length: 0\r\n\r\n"),
            ][number] ?? .none
        }
        #expect(await self.failure(to: server, maximumFailureCount: nil).code == .corrupted)
    }

    @Test func aServerThatTakesNothingIsNotAskedForEver() async throws {
        let answer = "HTTP/1.1 204 No\r\nUpload-Offset: 0\r\n\r\n"
        let server = try TusServer { _, method in method == "PATCH" ? .swallow(answer) : .none }
        #expect(await self.failure(to: server, maximumFailureCount: nil).code == .corrupted)
        #expect(server.requests == ["POST", "PATCH"])
    }

    @Test func aSourceThatChangesIsNotMixed() async throws {
        let source = ChangingSource()
        let server = try TusServer { number, _ in number == 1 ? .cut(after: 3) : .none }
        var uploader = ResumableUploader(BlobUploadRequest(.post, server.url))
        uploader.onRetry = { _ in source.isChanged.withLock { $0 = true } }
        do {
            _ = try await uploader.upload(source)
            Issue.record("It succeeded.")
        } catch {
            #expect(error.code == .changed)
        }
        #expect(server.stored == Array("fir".utf8))
    }

    @Test func twoUploadersDoNotShareAState() async throws {
        let (isOpen, isRefused) = (WaitSignal(), WaitSignal())
        let server = try TusServer { number, _ in
            if number == 1 {
                isOpen.signal()
                _ = isRefused.wait(for: .seconds(20))
            }
            return .none
        }
        async let first = self.upload(to: server)
        try await onThread { _ = isOpen.wait(for: .seconds(20)) }
        let error = await self.failure(to: server, maximumFailureCount: nil)
        #expect(error.code == .unavailable && error.message.contains("a/state"))
        isRefused.signal()
        _ = try await first
        #expect(server.requests == ["POST", "PATCH"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path("a")) == [])
        // A lock file that a kill left locks nothing.
        try self.folder.write("", to: "a/state.lock")
        _ = try await self.upload(to: server)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path("a")) == [])
    }

    @Test func aServerThatJoinsNoPartsIsUnsupported() async throws {
        let server = try TusServer { _, method in
            method == "DELETE" ? .text("HTTP/1.1 204 No\r\n\r\n") : .none
        }
        var uploader = ResumableUploader(BlobUploadRequest(.post, server.url))
        uploader.partCount = 3
        await #expect(throws: BlobError.self) { () async throws in
            try await uploader.upload(MemorySource(self.bytes, validator: .strong("1")))
        }
        #expect(server.requests == ["POST", "HEAD", "DELETE"])
    }

    @Test func aSourceThatCannotBeReadAgainIsUnsupported() async throws {
        let server = try TusServer { _, _ in .none }
        #expect(await self.failure(of: pipeSource(Data("abc".utf8)), to: server).code == .unsupported)
        #expect(server.requests == [])
    }
}

/// Content of which the validator changes.
private struct ChangingSource: BlobInputStreamDataSource {
    let isChanged = Locked(false)

    var traits: BlobTraits { self.base.traits }

    private var base: MemorySource {
        MemorySource("first".utf8, validator: .strong(self.isChanged.withLock { $0 } ? "2" : "1"))
    }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.makeBody(opening) }
}
