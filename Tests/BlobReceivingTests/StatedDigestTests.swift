import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

@testable import BlobReceiving

/// Bodies with and without the digests that their requests state, each kind with 100 bits flipped one after the other.
@Suite struct StatedDigestTests {
    private static let bytes = makeContent(70_000)
    private static let digestFields = [
        "Content-Digest sha-256", "Content-Digest sha-512", "Content-Digest sha", "Repr-Digest sha-256",
        "Repr-Digest sha-512", "Repr-Digest crc32c", "Digest md5", "Content-MD5",
    ]

    private let folder: TemporaryFolder
    private let sender: ResumableSender

    init() throws {
        self.folder = try TemporaryFolder()
        self.sender = ResumableSender(folder: self.folder, maximumByteCount: 100_000, fields: [:])
    }

    private static func base64(_ algorithm: StatedAlgorithm, _ bytes: [UInt8] = Self.bytes) throws -> String {
        var hasher = try #require(algorithm.makeHasher())
        bytes.withUnsafeBytes { hasher.update($0) }
        return Data(hasher.finalize()).base64EncodedString()
    }

    /// Returns a field by its words in `digestFields`.
    private static func field(_ words: String) throws -> (name: String, value: String) {
        let words = words.split(separator: " ").map(String.init)
        guard words.count == 2 else { return (words[0], try self.base64(.md5)) }
        let names: [String: StatedAlgorithm] = ["sha": .sha1, "md5": .md5, "crc32c": .crc32c]
        let algorithm = try #require(names[words[1]] ?? StatedAlgorithm(rawValue: words[1].filter { $0 != "-" }))
        let value = try self.base64(algorithm)
        return (words[0], words[0] == "Digest" ? "\(words[1])=\(value)" : "\(words[1])=:\(value):")
    }

    private func receive(_ bytes: [UInt8], _ fields: [(name: String, value: String)], type: String? = nil) throws {
        let receiver = try RequestReceiver(
            path: "/x", contentType: type, fields: fields, folder: self.folder.path, maximumByteCount: nil)
        // Two pieces, as they arrive.
        for piece in [bytes[..<1000], bytes[1000...]] { try piece.withUnsafeBytes { try receiver.receive($0) } }
        _ = try receiver.answer()
    }

    private static func flipped(_ random: inout SplitMix64) -> [UInt8] {
        self.bytes.flipping(bit: Int.random(in: 0..<(8 * self.bytes.count), using: &random))
    }

    @Test(arguments: digestFields) func aWrongBodyHasNoName(words: String) throws {
        let field = try Self.field(words)
        var random = SplitMix64(seed: 40)
        for _ in 0..<100 {
            let bytes = Self.flipped(&random)
            self.sender.expectRefusal(400) { try self.receive(bytes, [field]) }
            self.sender.expectRefusal(400) { try self.receive(Self.bytes + [0], [field]) }
        }
        #expect(self.folder.names == [])
        for _ in 0..<10 { try self.receive(Self.bytes, [field, ("Repr-Digest", "unixsum=30637")]) }
        #expect(self.folder.names.count == 10)
    }

    /// One right digest does not excuse a wrong one, and a malformed one is wrong.
    @Test func allDigestsMustBeRight() throws {
        let right = try Self.field("Content-Digest sha-256")
        for value in ["sha-256=:AAAA:", "sha-256=", "sha-256", "md5=:\(try Self.base64(.md5, [])):"] {
            self.sender.expectRefusal(400) { try self.receive(Self.bytes, [right, ("content-digest", value)]) }
        }
        self.sender.expectRefusal(400) { try self.receive(Self.bytes, [right, ("Content-MD5", "no")]) }
        #expect(self.folder.names == [])
    }

    @Test func theDigestOfAFormIsOfItsBytes() throws {
        let form = Array("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n".utf8) + Self.bytes
        let bytes = form + Array("\r\n--B--".utf8)
        let type = "multipart/form-data; boundary=B"
        let field = (name: "Content-MD5", value: try Self.base64(.md5, bytes))
        var random = SplitMix64(seed: 40)
        for _ in 0..<100 {
            let place = form.count - 1 - Int.random(in: 0..<Self.bytes.count, using: &random)
            self.sender.expectRefusal(400) { try self.receive(bytes.flipping(at: place), [field], type: type) }
        }
        #expect(self.folder.names == [])
        try self.receive(bytes, [field], type: type)
        #expect(self.folder.names == ["a"])
    }

    // MARK: Resumable uploads

    private func send(
        _ method: String, _ path: String, _ fields: [String: String], _ bytes: [UInt8], to uploads: ResumableUploads
    ) throws -> RequestAnswer {
        let receiver = try self.sender.begin(method, path, fields, to: uploads)
        try bytes.withUnsafeBytes { try receiver.receive($0) }
        return try receiver.answer()
    }

    /// Only the second half is checked; the offset does not change after a refusal.
    @Test(arguments: [
        "sha1", "sha256", "sha512", "md5", "crc32", "crc32c", "crc64nvme", "Content-Digest", "Repr-Digest",
    ])
    func aWrongPieceIsNotKept(kind: String) throws {
        let uploads = self.sender.uploads
        let (tus, half) = (["Tus-Resumable": "1.0.0"], Self.bytes.count / 2)
        let type = tus.merging(["Content-Type": "application/offset+octet-stream"]) { $1 }
        let length = String(Self.bytes.count)
        let path = try #require(
            try self.send("POST", "/", tus.merging(["Upload-Length": length]) { $1 }, [], to: uploads)["Location"])
        let first = type.merging(["Upload-Offset": "0"]) { $1 }
        _ = try self.send("PATCH", path, first, Array(Self.bytes[..<half]), to: uploads)
        let rest = Array(Self.bytes[half...])
        var fields = type.merging(["Upload-Offset": String(half)]) { $1 }
        if let algorithm = StatedAlgorithm(rawValue: kind) {
            fields["Upload-Checksum"] = "\(kind) \(try Self.base64(algorithm, rest))"
        } else {
            fields[kind] = "sha-256=:\(try Self.base64(.sha256, rest)):"
        }
        var random = SplitMix64(seed: 40)
        for _ in 0..<100 {
            let bytes = rest.flipping(bit: Int.random(in: 0..<(8 * rest.count), using: &random))
            self.sender.expectRefusal(StatedAlgorithm(rawValue: kind) == nil ? 400 : 460) {
                _ = try self.send("PATCH", path, fields, bytes, to: uploads)
            }
            let state = try self.sender.send("HEAD", path, tus, to: uploads)
            #expect(state["Upload-Offset"] == String(half) && state["Repr-Digest"] == nil)
        }
        let answer = try self.send("PATCH", path, fields, rest, to: uploads)
        let digest = "sha-256=:\(try Self.base64(.sha256)):"
        #expect(answer.parts.count == 1 && answer["Repr-Digest"] == digest)
        #expect(try self.sender.send("HEAD", path, tus, to: uploads)["Repr-Digest"] == digest)
        #expect(FileManager.default.contents(atPath: self.folder.path("upload")) == Data(Self.bytes))
    }

    /// A `Repr-Digest` of a creation is of the whole, whatever is cut in between; a `Content-Digest` of one request.
    @Test func theDigestOfACreationIsOfTheWhole() throws {
        let uploads = self.sender.uploads
        let (half, field) = (Self.bytes.count / 2, try Self.field("Repr-Digest sha-256"))
        let part = ["Upload-Complete": "?0", "Upload-Length": String(Self.bytes.count), field.name: field.value]
        var random = SplitMix64(seed: 40)
        for number in 0...100 {
            let bytes = number == 100 ? Self.bytes : Self.flipped(&random)
            let path = try #require(try self.send("POST", "/x", part, Array(bytes[..<half]), to: uploads)["Location"])
            let rest = [
                "Upload-Complete": "?1", "Upload-Offset": String(half), "Content-Type": "application/partial-upload",
                "Content-Length": String(bytes.count - half),
                "Content-Digest": "sha-256=:\(try Self.base64(.sha256, Array(bytes[half...]))):",
            ]
            self.sender.expectRefusal(400) {
                _ = try self.send("PATCH", path, rest, Array(bytes[half...]).flipping(at: number), to: uploads)
            }
            #expect(try self.sender.send("HEAD", path, to: uploads)["Upload-Offset"] == String(half))
            guard number < 100 else {
                #expect(try self.send("PATCH", path, rest, Array(bytes[half...]), to: uploads).parts.count == 1)
                continue
            }
            self.sender.expectRefusal(400) {
                _ = try self.send("PATCH", path, rest, Array(bytes[half...]), to: uploads)
            }
            self.sender.expectRefusal(404) { _ = try self.sender.send("HEAD", path, to: uploads) }
            #expect(self.folder.names == [])
        }
        #expect(self.folder.read("x") != nil)
    }

    @Test func theAlgorithmsAreTold() throws {
        let answer = try self.sender.send("OPTIONS", "/")
        #expect(answer["Tus-Checksum-Algorithm"] == "crc32,crc32c,crc64nvme,md5,sha1,sha256,sha512")
        #expect(answer["Tus-Extension"]?.contains("checksum") == true)
    }
}
