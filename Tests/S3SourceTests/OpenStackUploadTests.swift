import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation
import HTTPTestSupport
import Testing

@testable import S3Source

/// `blob upload` to OpenStack Swift: `make s3-check`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BLOBSTREAMS_S3"] != nil), .timeLimit(.minutes(5)))
struct OpenStackUploadTests {
    private static let endpoint = ProcessInfo.processInfo.environment["AWS_ENDPOINT_URL_S3"] ?? ""
    private static let port = UInt16(endpoint.split(separator: ":").last ?? "") ?? 0

    private let folder: TemporaryFolder
    private let path: String

    /// A file of three parts.
    init() throws {
        self.folder = try TemporaryFolder()
        self.path = try self.folder.write(makeContent(40 << 20), to: "x")
    }

    /// Returns the upload in parts of an object that the store has not ended; nil without one.
    private static func upload(of key: String) async throws -> MultipartUpload? {
        let store = try S3Service(S3Source.Options(), .process)
        let keys = await withCheckedContinuation { continuation in
            store.keys.find { continuation.resume(returning: $0) }
        }
        let host = BlobHTTPField("Host", String(self.endpoint.dropFirst("http://".count)))
        let signed = SigV4Request(path: "/bucket", query: [("uploads", "")], fields: [host])
        var request = TransferRequest(try TransferURL("\(self.endpoint)/bucket?uploads="))
        request.privateFields = SigV4Signer(keys: try #require(try keys.get()), region: store.region)
            .fields(for: signed, at: SigningTime(secondsSince1970: Int64(Date().timeIntervalSince1970)))
        let (head, body) = try await request.answer(upTo: 1 << 20, context: BlobContext())
        #expect(head.isSuccess, "\(String(decoding: body, as: UTF8.self))")
        let found = try MarkupElement.parse(body).children.first {
            $0.name.local == "Upload" && $0.text(of: "Key") == key
        }
        guard let identifier = found?.text(of: "UploadId") else { return nil }
        let address = try S3Address(BlobLocator("s3://bucket/\(key)"))
        let client = S3Client(S3Requests(address, store), try BlobUploader(), S3Client.Limits(), BlobContext())
        return MultipartUpload(client: client, identifier: identifier)
    }

    /// Returns once the store has a part of an object.
    private static func waitForPart(of key: String) async throws {
        while try await self.upload(of: key)?.parts()?.isEmpty ?? true { try Task.checkCancellation() }
    }

    private func expectStored(_ locator: String, _ arguments: [String] = []) async throws {
        let sums = try await StoreCommand.run(["sum", locator, self.path] + arguments).outputText.split(separator: "\n")
        #expect(sums.count == 2 && sums[0].prefix(64) == sums[1].prefix(64), "\(sums)")
    }

    @Test func aFormIsStored() async throws {
        let form = ["-F", "a=b", "-F", "f=@\(self.path)", "--boundary=cut"]
        let stored = try await StoreCommand.run(["upload"] + form + ["s3://bucket/form"])
        #expect(stored.status == 0 && stored.outputText.hasSuffix("-3  s3://bucket/form\n"), "\(stored.errors)")
        let expected = try await StoreCommand.run(["form"] + form).output
        let found = try await StoreCommand.run(["cat", "s3://bucket/form"]).output
        #expect(found == expected)
        let info = try await StoreCommand.run(["info", "s3://bucket/form"]).outputText
        #expect(info.contains("media type: multipart/form-data\n"), "\(info)")
    }

    @Test func anInterruptLeavesNothing() async throws {
        let arguments = ["upload", "--limit-rate", "16M", self.path, "s3://bucket/interrupted"]
        let ended = try await StoreCommand.interrupt(arguments) { try await Self.waitForPart(of: "interrupted") }
        #expect(ended.status == 130 && ended.errors.contains("blob: cancelled: "), "\(ended)")
        #expect(try await Self.upload(of: "interrupted") == nil)
        #expect(try await StoreCommand.run(["cat", "s3://bucket/interrupted"]).status == 66)
    }

    @Test func anInterruptOfAResumableUploadLeavesItsParts() async throws {
        let arguments = [
            "upload", "--resumable", "s3", "--state", self.folder.path("state"), self.path, "s3://bucket/continued",
        ]
        let ended = try await StoreCommand.interrupt(arguments + ["--limit-rate", "16M"]) {
            try await Self.waitForPart(of: "continued")
        }
        #expect(ended.status == 130, "\(ended)")
        let left = try #require(try await Self.upload(of: "continued")?.parts())
        let proxy = try FaultProxy(to: Self.port)
        let stored = try await StoreCommand.run(arguments + ["--endpoint-url", "http://127.0.0.1:\(proxy.port)"])
        #expect(stored.status == 0, "\(stored.errors)")
        let leftByteCount = left.values.reduce(0) { $0 + $1.byteCount }
        // With the heads.
        #expect(leftByteCount > 0 && proxy.counts.toServerByteCount < 40 << 20 - leftByteCount + 1 << 20)
        try await self.expectStored("s3://bucket/continued")
        #expect(try await Self.upload(of: "continued") == nil && self.folder.names == ["x"])
    }

    @Test func theStoreIsReachedOverTLS() async throws {
        let tunnel = try PythonServer(.tunnel(Self.port))
        let endpoint = ["--endpoint-url", "https://127.0.0.1:\(tunnel.port)"]
        let trust = endpoint + ["--cacert", PythonServer.authority]
        let stored = try await StoreCommand.run(["upload", self.path, "s3://bucket/tls"] + trust)
        #expect(stored.status == 0 && stored.outputText.hasSuffix("-3  s3://bucket/tls\n"), "\(stored.errors)")
        try await self.expectStored("s3://bucket/tls", trust)
        let refused = try await StoreCommand.run(["upload", self.path, "s3://bucket/refused"] + endpoint)
        #expect(refused.status != 0 && refused.errors.contains("certificate"), "\(refused)")
        #expect(try await StoreCommand.run(["cat", "s3://bucket/refused"]).status == 66)
    }

    @Test func theOptionsOfTheCommandReachTheStore() async throws {
        let page = try self.folder.write("<!DOCTYPE html>", to: "page")
        let options = ["--region", "eu-west-1", "--endpoint-url", Self.endpoint, "-H", "Content-Type: text/x"]
        let stored = try await StoreCommand.run(["upload", page, "s3://bucket/options/"] + options)
        #expect(stored.status == 0, "\(stored.errors)")
        let info = try await StoreCommand.run(["info", "s3://bucket/options/page"]).outputText
        #expect(info.contains("text/x") && info.contains("bytes: 15\n"), "\(info)")
        let unsigned = try await StoreCommand.run(["upload", page, "s3://bucket/unsigned", "--no-sign-request"])
        #expect(unsigned.status != 0 && unsigned.output.isEmpty && unsigned.errors.hasPrefix("blob: "), "\(unsigned)")
        let denied = try await StoreCommand.run(
            ["upload", page, "s3://bucket/denied"],
            environment: ["AWS_ACCESS_KEY_ID": "blob:reader", "AWS_SECRET_ACCESS_KEY": "reading"])
        #expect(denied.status == 77 && denied.errors.contains("AccessDenied"), "\(denied.errors)")
    }
}
