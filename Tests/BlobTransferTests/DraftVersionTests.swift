import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Uploads by the IETF's draft to servers that speak one interop version.
@Suite struct DraftVersionTests {
    private let bytes = makeContent(3_000_000)
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func upload(to server: TusServer, maximumFailureCount: Int? = nil) async throws -> String {
        var uploader = ResumableUploader(BlobUploadRequest(.post, server.url))
        uploader.wireProtocol = .draft
        uploader.stateFile = UploadStateFile(path: self.folder.path("state"))
        uploader.maximumFailureCount = maximumFailureCount
        return try await uploader.upload(MemorySource(self.bytes, validator: .strong("1")))
    }

    /// The version is that of all requests, and of the uploader that continues.
    @Test(arguments: [("8", 400, 1), ("6", 400, 2), ("6", 412, 2)])
    func theVersionIsThatOfTheServer(version: String, unknownStatus: Int, creationCount: Int) async throws {
        let server = try TusServer(version: version, unknownStatus: unknownStatus) { number, method in
            method == "PATCH" && number < 8 ? .cut(after: 100_000 * number) : .none
        }
        #expect(await asyncCodeThrown { try await self.upload(to: server, maximumFailureCount: 0) } == .io)
        let creation = Array(repeating: "POST", count: creationCount)
        #expect(server.requests == creation + ["PATCH"])
        #expect(try await self.upload(to: server) == server.url + "/1")
        let isEqual = server.stored == self.bytes
        #expect(isEqual && server.requests.count { $0 == "PATCH" } > 3)
        #expect(server.requests.count { $0 == "POST" } == creationCount)
        #expect(self.folder.names.isEmpty)
    }

    @Test func aVersionThatNobodySpeaksIsRefused() async throws {
        let server = try TusServer(version: "3") { _, _ in .none }
        #expect(await asyncCodeThrown { try await self.upload(to: server) } == .refused)
        #expect(server.requests == ["POST", "POST"])
    }

    /// Another refusal is final: it is none of the version.
    @Test(arguments: [401, 413]) func aRefusalIsNotRepeatedWithAnotherVersion(status: Int) async throws {
        let server = try TusServer(version: "8") { _, _ in .status(status) }
        #expect(await asyncCodeThrown { try await self.upload(to: server) } == .refused)
        #expect(server.requests == ["POST"])
    }
}
