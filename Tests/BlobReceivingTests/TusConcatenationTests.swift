import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

@Suite struct TusConcatenationTests {
    private let folder: TemporaryFolder
    private var sender: ResumableSender

    init() throws {
        self.folder = try TemporaryFolder()
        self.sender = ResumableSender(folder: self.folder, fields: ["Tus-Resumable": "1.0.0"])
    }

    /// Creates a part with the first bytes of a text, and returns its path.
    private func part(_ text: String, _ byteCount: Int? = nil) throws -> String {
        let fields = [
            "Upload-Concat": "partial", "Upload-Length": String(text.count), "Content-Length": String(text.count),
            "Content-Type": "application/offset+octet-stream",
        ]
        let receiver = try self.sender.begin("POST", "/", fields)
        try receiver.receive(String(text.prefix(byteCount ?? text.count)))
        let answer = try receiver.answer()
        #expect(answer.parts.isEmpty)
        return try #require(answer["Location"])
    }

    private func final(_ urls: String..., named name: String = "x") -> [String: String] {
        [
            "Upload-Concat": "final;" + urls.joined(separator: " "),
            "Upload-Metadata": "filename \(Data(name.utf8).base64EncodedString()),filetype dGV4dC9wbGFpbg==",
        ]
    }

    @Test func aFinalUploadHasTheBytesOfItsParts() throws {
        let parts = [try self.part("hello "), try self.part(""), try self.part("world")]
        #expect(self.folder.visibleNames == [])
        #expect(try self.sender.send("HEAD", parts[0])["Upload-Concat"] == "partial")
        let fields = self.final(parts[0], "http://a:1\(parts[1])", "https://b\(parts[2])")
        let answer = try self.sender.send("POST", "/any", fields)
        let part = try #require(answer.parts.first)
        #expect(answer.status == 201 && part.filename == "x" && part.mediaType == "text/plain" && part.byteCount == 11)
        #expect(part.sha256 == "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9")
        #expect(self.folder.visibleNames == ["x"])
        #expect(self.folder.read("x") == "hello world")
        let path = try #require(answer["Location"])
        let state = try self.sender.send("HEAD", path)
        #expect(state["Upload-Concat"] == fields["Upload-Concat"])
        #expect(state["Upload-Length"] == "11" && state["Upload-Offset"] == "11" && state.parts.isEmpty)
        self.sender.expectRefusal(403) {
            let fields = ["Upload-Offset": "11", "Content-Type": "application/offset+octet-stream"]
            try self.sender.send("PATCH", path, fields)
        }
        // The parts may be used again, or deleted.
        #expect(
            try self.sender.send("POST", "/", self.final(parts[2], parts[2], named: "y")).parts.first?.byteCount == 10)
        for part in parts { try self.sender.send("DELETE", part) }
        #expect(self.folder.visibleNames == ["x", "y"])
        self.sender.expectRefusal(404) { try self.sender.send("POST", "/", fields) }
    }

    /// The sender may have lost the answer.
    @Test func theSameFinalUploadIsNamedOnce() throws {
        let fields = self.final(try self.part("abc"), try self.part("de"))
        let first = try self.sender.send("POST", "/", fields)
        let second = try self.sender.send("POST", "/", fields)
        #expect(first["Location"] == second["Location"] && second.parts.isEmpty)
        #expect(self.folder.visibleNames == ["x"])
    }

    /// The receiver is killed while it copies, and between any two steps after that.
    @Test func aFinalUploadThatWasInterruptedIsMadeAgain() throws {
        let fields = self.final(try self.part("abc"), try self.part("de"))
        let location = try #require(try self.sender.send("POST", "/", fields)["Location"])
        let name = ResumableSender.fileName(location)
        let record = try #require(self.folder.read(name + ".json"))
        let files = FileManager.default
        for copied in ["", "a", "abcde", "abcdefgh"] {
            for leftover in ["x", name + ".json"] { try files.removeItem(atPath: self.folder.path(leftover)) }
            try self.folder.write(copied, to: name)
            #expect(try self.sender.send("POST", "/", fields).parts.count == 1)
            #expect(self.folder.read("x") == "abcde" && self.folder.visibleNames == ["x"])
        }
        try files.removeItem(atPath: self.folder.path("x"))
        try self.folder.write("abcde", to: name)
        try self.folder.write(record, to: name + ".json")
        #expect(try self.sender.send("POST", "/", fields).parts.count == 1)
        #expect(self.folder.read("x") == "abcde" && self.folder.visibleNames == ["x"])
    }

    @Test func onlyWholePartsAreJoined() throws {
        let whole = try self.part("abc")
        self.sender.expectRefusal(400) { try self.sender.send("POST", "/", self.final(whole, self.part("de", 1))) }
        let other = try #require(try self.sender.send("POST", "/", ["Upload-Length": "0"])["Location"])
        self.sender.expectRefusal(400) { try self.sender.send("POST", "/", self.final(other)) }
        let none = "/files/" + String(repeating: "0", count: 32)
        for url in [none, "/files/", "/", "http://a", "://", "/files/../x"] {
            self.sender.expectRefusal(404) { try self.sender.send("POST", "/", self.final(whole, url)) }
        }
        for value in ["", "final", "final;", "final; ", "Partial", "partial;", ";", "final \(whole)"] {
            self.sender.expectRefusal(400) { try self.sender.send("POST", "/", ["Upload-Concat": value]) }
        }
        var small = self.sender
        small.maximumByteCount = 5
        self.sender.expectRefusal(413) { try small.send("POST", "/", self.final(whole, whole)) }
        #expect(self.folder.visibleNames == ["upload"])
    }
}
