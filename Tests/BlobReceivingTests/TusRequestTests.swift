import BlobStreams
import BlobTestSupport
import CryptoDigest
import Foundation
import Testing

@testable import BlobReceiving

@Suite struct TusRequestTests {
    private let folder: TemporaryFolder
    private let sender: ResumableSender

    init() throws {
        self.folder = try TemporaryFolder()
        self.sender = ResumableSender(folder: self.folder, fields: ["Tus-Resumable": "1.0.0"])
    }

    private var uploads: ResumableUploads { self.sender.uploads }

    /// Creates an upload, and returns its path.
    private func create(_ byteCount: Int, _ name: String = "x", to uploads: ResumableUploads? = nil) throws -> String {
        let metadata = "filename \(Data(name.utf8).base64EncodedString()),filetype dGV4dC9wbGFpbg=="
        let answer = try self.sender.send(
            "POST", "/", ["Upload-Length": String(byteCount), "Upload-Metadata": metadata], to: uploads)
        #expect(answer.status == 201)
        return try #require(answer["Location"])
    }

    private func patch(_ offset: Int, _ more: [String: String] = [:]) -> [String: String] {
        ["Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream"].merging(more) { $1 }
    }

    private func offset(_ path: String, in uploads: ResumableUploads? = nil) throws -> String? {
        try self.sender.send("HEAD", path, to: uploads)["Upload-Offset"]
    }

    /// As clients send them where PATCH cannot be sent, such as those of Java.
    @Test(arguments: ["POST", "GET", "PUT"]) func aFieldReplacesTheMethod(method: String) throws {
        func field(_ method: String) -> [String: String] { ["X-HTTP-Method-Override": method] }
        let path = try self.create(11)
        #expect(try self.sender.send(method, path, self.patch(0, field("PATCH")), "hello ")["Upload-Offset"] == "6")
        #expect(try self.sender.send(method, path, field("HEAD"))["Upload-Offset"] == "6")
        self.sender.expectRefusal(405) { try self.sender.send(method, path, field("MOVE"), "x") }
        self.sender.expectRefusal(405) { try self.sender.send(method, path, field("patch"), "x") }
        #expect(try self.sender.send(method, path, self.patch(6, field("PATCH")), "world").parts.count == 1)
        #expect(self.folder.read("x") == "hello world")
        let other = try self.create(11, "y")
        #expect(try self.sender.send(method, other, field("DELETE")).status == 204)
        self.sender.expectRefusal(404) { try self.sender.send("HEAD", other) }
        // Of another protocol, the field says nothing.
        let fields = [(name: "X-HTTP-Method-Override", value: "PATCH")]
        #expect(TusRequest(RequestHead(method: method, target: other, fields: fields)) == nil)
    }

    /// Each request is one of another receiver: what is known is what is on the disk.
    @Test func anUploadGoesOnInAnotherReceiver() throws {
        let path = try self.create(11, "a/b")
        #expect(try self.offset(path) == "0")
        #expect(try self.sender.send("PATCH", path, self.patch(0), "hel", "lo ")["Upload-Offset"] == "6")
        // A connection that is cut: its bytes stay.
        do {
            let receiver = try self.sender.begin("PATCH", path, self.patch(6))
            try receiver.receive("wo")
            receiver.abandon()
        }
        #expect(try self.sender.send("HEAD", path)["Upload-Length"] == "11")
        #expect(try self.offset(path) == "8")
        self.sender.expectRefusal(409) { try self.sender.send("PATCH", path, self.patch(6), "world") }
        #expect(self.folder.visibleNames == [])
        let part = try #require(try self.sender.send("PATCH", path, self.patch(8), "rld").parts.first)
        #expect(part.filename == "a/b" && part.mediaType == "text/plain" && part.byteCount == 11)
        #expect(part.sha256 == "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9")
        #expect(self.folder.visibleNames == ["a%2Fb"])
        #expect(self.folder.read("a%2Fb") == "hello world")
        // A sender that lost the answer learns that all has arrived, and the file is not named again.
        let answer = try self.sender.send("HEAD", path)
        #expect(answer["Upload-Offset"] == "11" && answer.parts.isEmpty)
        #expect(try self.sender.send("PATCH", path, self.patch(11)).parts.isEmpty)
        #expect(self.folder.visibleNames == ["a%2Fb"])
    }

    /// The receiver is killed between any two steps of giving the file its name.
    @Test func aFileGetsItsNameOnce() throws {
        let path = try self.create(3)
        let data = ".\(path.dropFirst("/files/".count)).upload"
        try self.folder.write("abc", to: data)
        let first = try self.sender.send("HEAD", path)
        #expect(first.parts.first?.file == self.folder.path("x"))
        try FileManager.default.linkItem(atPath: self.folder.path("x"), toPath: self.folder.path(data))
        let second = try self.sender.send("HEAD", path)
        #expect(second.parts.isEmpty && second["Upload-Offset"] == "3")
        #expect(self.folder.names == [data + ".json", "x"])
        try FileManager.default.removeItem(atPath: self.folder.path("x"))
        try self.folder.write("abc", to: data)
        #expect(try self.sender.send("HEAD", path).parts.count == 1)
        #expect(self.folder.names == [data + ".json", "x"])
    }

    @Test func aRequestTakesOverFromTheOneBefore() throws {
        let uploads = self.uploads
        let path = try self.create(6, to: uploads)
        let dead = try self.sender.begin("PATCH", path, self.patch(0), to: uploads)
        try dead.receive("abc")
        #expect(try self.offset(path, in: uploads) == "3")
        // Until then the first one goes on: its connection may have ended, and its last bytes not be stored.
        self.sender.expectRefusal(409) { _ = try self.sender.begin("PATCH", path, self.patch(1), to: uploads) }
        try dead.receive("d")
        #expect(try self.offset(path, in: uploads) == "4")
        let living = try self.sender.begin("PATCH", path, self.patch(4), to: uploads)
        self.sender.expectRefusal(409) { try dead.receive("X") }
        self.sender.expectRefusal(409) { _ = try dead.answer() }
        dead.abandon()
        try living.receive("ef")
        // Another process may not write at the same time.
        self.sender.expectRefusal(423) { try self.sender.send("HEAD", path) }
        #expect(try living.answer().parts.count == 1)
        #expect(self.folder.read("x") == "abcdef")
    }

    @Test func bytesWithoutTheirChecksumAreDropped() throws {
        let uploads = self.uploads
        let path = try self.create(6, to: uploads)
        try self.sender.send("PATCH", path, self.patch(0), "ab", to: uploads)
        for digest in [CryptoDigest.sha1, .sha256] {
            var hasher = digest.makeHasher()
            Array("cd".utf8).withUnsafeBytes { hasher.update($0) }
            let right = "\(digest.name) \(Data(hasher.finalize()).base64EncodedString())"
            let fields = self.patch(2, ["Upload-Checksum": right])
            self.sender.expectRefusal(460) { try self.sender.send("PATCH", path, fields, "cX", to: uploads) }
            #expect(try self.offset(path, in: uploads) == "2")
            // One that is cut cannot be checked.
            try {
                let cut = try self.sender.begin("PATCH", path, fields, to: uploads)
                try cut.receive("cd")
                cut.abandon()
            }()
            #expect(try self.offset(path, in: uploads) == "2")
            let replaced = try self.sender.begin("PATCH", path, fields, to: uploads)
            try replaced.receive("c")
            #expect(try self.offset(path, in: uploads) == "2")
        }
        for text in ["md4 AAAA", "sha1", "sha1 !", ""] {
            self.sender.expectRefusal(400) {
                try self.sender.send("PATCH", path, self.patch(2, ["Upload-Checksum": text]), "cd")
            }
        }
        let checksum = "sha1 \(Data(Self.sha1(of: "cdef")).base64EncodedString())"
        #expect(
            try self.sender.send("PATCH", path, self.patch(2, ["Upload-Checksum": checksum]), "cdef").parts.count == 1)
        #expect(self.folder.read("x") == "abcdef")
    }

    /// A kill leaves what was written, and no time to drop it.
    @Test func aReceiverThatWasKilledDropsWhatItHadNotChecked() throws {
        let path = try self.create(6)
        try self.sender.send("PATCH", path, self.patch(0), "ab")
        let data = ".\(path.dropFirst("/files/".count)).upload"
        var copies: [String] = []
        do {
            let receiver = try self.sender.begin("PATCH", path, self.patch(2, ["Upload-Checksum": "sha1 AAAA"]))
            try receiver.receive("cd")
            copies = try [data, data + ".json"].map { try #require(self.folder.read($0)) }
            receiver.abandon()
        }
        #expect(copies[0] == "abcd")
        try self.folder.write(copies[0], to: data)
        try self.folder.write(copies[1], to: data + ".json")
        #expect(try self.offset(path) == "2")
        #expect(self.folder.read(data) == "ab")
    }

    @Test func uploadsAreRemovedOnDemand() throws {
        let path = try self.create(6)
        try self.sender.send("PATCH", path, self.patch(0), "ab")
        #expect(try self.sender.send("DELETE", path).status == 204)
        #expect(self.folder.names == [])
        for method in ["HEAD", "PATCH", "DELETE"] {
            for path in [path, "/files/", "/files/../x", "/elsewhere", "/files/" + String(repeating: "0", count: 32)] {
                self.sender.expectRefusal(404) { try self.sender.send(method, path, self.patch(2)) }
            }
        }
    }

    @Test func whatDoesNotFitTheProtocolIsRefused() throws {
        let path = try self.create(6)
        self.sender.expectRefusal(412) { try self.sender.send("HEAD", path, ["Tus-Resumable": "0.2.2"]) }
        self.sender.expectRefusal(415) { try self.sender.send("PATCH", path, ["Upload-Offset": "0"]) }
        self.sender.expectRefusal(415) {
            try self.sender.send("POST", "/", ["Upload-Length": "3", "Content-Length": "3"])
        }
        self.sender.expectRefusal(413) { try self.sender.send("POST", "/", ["Upload-Length": "1001"]) }
        self.sender.expectRefusal(413) { try self.sender.send("PATCH", path, self.patch(0, ["Content-Length": "7"])) }
        self.sender.expectRefusal(413) { try self.sender.send("PATCH", path, self.patch(0), "abc", "defg") }
        self.sender.expectRefusal(400) { try self.sender.send("HEAD", path, [:], "a") }
        for number in ["", "-1", "+1", "0x1", "1 ", "99999999999999999999"] {
            self.sender.expectRefusal(400) {
                try self.sender.send("PATCH", path, self.patch(0, ["Upload-Offset": number]))
            }
            // A length of more than 2^63 bytes is a number, and more than the limit.
            let status = number.count == 20 ? 413 : 400
            self.sender.expectRefusal(status) { try self.sender.send("POST", "/", ["Upload-Length": number]) }
        }
        for text in ["a !", "a b c", "a YQ==,a YQ=="] {
            self.sender.expectRefusal(400) {
                try self.sender.send("POST", "/", ["Upload-Length": "1", "Upload-Metadata": text])
            }
        }
        #expect(try self.offset(path) == "3")
        let options = try self.sender.begin("OPTIONS", "*", ["Tus-Resumable": "-"])
        #expect(try options.answer()["Tus-Max-Size"] == "1000")
        #expect(TusRequest(RequestHead(method: "PUT", target: "/files/a", fields: [("Tus-Resumable", "1.0.0")])) == nil)
        #expect(TusRequest(RequestHead(method: "PATCH", target: "/x", fields: [])) == nil)
        let service = try UploadService(folder: nil)
        self.sender.expectRefusal(501) {
            _ = try service.receiver(for: RequestHead(method: "OPTIONS", target: "*", fields: []))
        }
    }

    @Test func aCreationMayHaveBytes() throws {
        let fields = ["Upload-Length": "3", "Content-Type": "application/offset+octet-stream", "Content-Length": "3"]
        let answer = try self.sender.send("POST", "/any", fields, "abc")
        #expect(answer.status == 201 && answer["Upload-Offset"] == "3")
        #expect(answer.parts.map(\.name) == ["upload"])
        #expect(try self.sender.send("POST", "/", ["Upload-Length": "0"]).parts.first?.byteCount == 0)
        #expect(self.folder.visibleNames == ["upload", "upload-2"])
    }

    /// A record is read after power cuts too.
    @Test func aDamagedRecordIsAnError() throws {
        let path = try self.create(6)
        let name = ".\(path.dropFirst("/files/".count)).upload.json"
        let record = Array(try #require(self.folder.read(name)).utf8)
        for count in record.indices {
            try self.folder.write(Array(record[..<count]), to: name)
            #expect(throws: BlobError.self) { () throws in try self.sender.send("HEAD", path) }
        }
        for bit in 0..<(record.count * 8) {
            let damaged = record.flipping(bit: bit)
            try self.folder.write(damaged, to: name)
            _ = try? self.sender.send("HEAD", path)
        }
        try self.folder.write(record, to: name)
        #expect(try self.offset(path) == "0")
    }

    @Test func uploadsThatNobodyContinuedAreRemoved() throws {
        let (old, new) = (try self.create(6), try self.create(6))
        let week = Date.now.addingTimeInterval(-8 * 24 * 3600)
        for name in self.folder.names where name.contains(old.dropFirst("/files/".count)) {
            try FileManager.default.setAttributes([.modificationDate: week], ofItemAtPath: self.folder.path(name))
        }
        let uploads = self.uploads
        self.sender.expectRefusal(404) { try self.sender.send("HEAD", old, to: uploads) }
        #expect(try self.offset(new, in: uploads) == "0")
        #expect(self.folder.names.count == 2)
    }

    private static func sha1(of text: String) -> [UInt8] {
        var hasher = CryptoDigest.sha1.makeHasher()
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        return hasher.finalize()
    }
}
