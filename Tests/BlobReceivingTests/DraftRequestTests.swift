import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

/// The requests of draft-ietf-httpbis-resumable-upload.
@Suite struct DraftRequestTests {
    private let folder: TemporaryFolder
    private let sender: ResumableSender

    init() throws {
        self.folder = try TemporaryFolder()
        self.sender = ResumableSender(folder: self.folder, fields: ["Upload-Draft-Interop-Version": "8"])
    }

    /// The fields of a request in chunks.
    private func fields(_ isLast: Bool, _ offset: Int? = nil, _ more: [String: String] = [:]) -> [String: String] {
        var fields = ["Upload-Complete": isLast ? "?1" : "?0", "Transfer-Encoding": "chunked"]
        if let offset { fields["Upload-Offset"] = String(offset) }
        if offset != nil { fields["Content-Type"] = "application/partial-upload" }
        return fields.merging(more) { $1 }
    }

    private func create(_ more: [String: String] = [:]) throws -> String {
        try #require(try self.sender.send("POST", "/a/b.txt", self.fields(false, nil, more))["Location"])
    }

    private func state(_ path: String) throws -> [String?] {
        let answer = try self.sender.send("HEAD", path)
        #expect(answer.status == 204 && answer["Upload-Limit"] == "max-size=1000, min-size=0")
        return [answer["Upload-Offset"], answer["Upload-Length"], answer["Upload-Complete"]]
    }

    @Test(arguments: ["6", "7", "8", "-", "5", "9", "x"]) func anUploadInOneRequest(version: String) throws {
        let more = ["Upload-Draft-Interop-Version": version, "Content-Length": "3", "Transfer-Encoding": "-"]
        let receiver = try self.sender.begin("PUT", "/a/b.txt?c", self.fields(true, nil, more))
        if ["6", "7", "8"].contains(version) {
            let interim = try #require(receiver.interimAnswer)
            #expect(interim.status == 104 && interim["Upload-Draft-Interop-Version"] == version)
            #expect(interim["Upload-Limit"] == "max-size=1000, min-size=0")
            #expect(interim["Location"]?.hasPrefix("/files/") == true)
        } else {
            #expect(receiver.interimAnswer == nil)
        }
        try receiver.receive("abc")
        let answer = try receiver.answer()
        #expect(answer.status == 201 && answer["Upload-Complete"] == "?1" && answer.parts.map(\.name) == ["b.txt"])
        #expect(self.folder.read("b.txt") == "abc")
    }

    @Test func anUploadGoesOnInAnotherReceiver() throws {
        let path = try self.create(["Upload-Length": "11", "Content-Type": "text/plain"])
        #expect(try self.state(path) == ["0", "11", "?0"])
        try self.sender.cut("PATCH", path, self.fields(true, 0), "hello ")
        #expect(try self.state(path) == ["6", "11", "?0"])
        let answer = try self.sender.send("PATCH", path, self.fields(false, 6), "wor", "ld")
        // All bytes are there, but only the sender knows that no more are to come.
        #expect(answer.status == 204 && answer["Upload-Complete"] == "?0" && answer.parts.isEmpty)
        #expect(try self.state(path) == ["11", "11", "?0"])
        #expect(self.folder.visibleNames == [])
        let last = try self.sender.send("PATCH", path, self.fields(true, 11))
        let part = try #require(last.parts.first)
        #expect(part.mediaType == "text/plain" && part.filename == nil)
        #expect(part.sha256 == "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9")
        #expect(last["Upload-Complete"] == "?1" && self.folder.read("b.txt") == "hello world")
        // A sender that lost the answer learns that.
        #expect(try self.state(path) == ["11", "11", "?1"])
        #expect(try self.sender.send("PATCH", path, self.fields(true, 11)).parts.isEmpty)
        #expect(self.folder.visibleNames == ["b.txt"])
    }

    @Test func theLengthMayBeUnknownUntilTheEnd() throws {
        let path = try self.create()
        try self.sender.send("PATCH", path, self.fields(false, 0), "ab")
        #expect(try self.state(path) == ["2", nil, "?0"])
        try self.sender.cut("PATCH", path, self.fields(true, 2), "c")
        #expect(try self.state(path) == ["3", nil, "?0"])
        #expect(try self.sender.send("PATCH", path, self.fields(true, 3), "d").parts.first?.byteCount == 4)
        #expect(self.folder.read("b.txt") == "abcd")
        // The length of the last request is that of the upload.
        let other = try self.create()
        let last = ["Content-Length": "3", "Transfer-Encoding": "-"]
        try self.sender.cut("PATCH", other, self.fields(true, 0, last), "x")
        #expect(try self.state(other) == ["1", "3", "?0"])
    }

    /// Killed after the last byte, and before the file had its name.
    @Test func theLastByteMayHaveComeBeforeAKill() throws {
        let path = try self.create()
        try self.sender.cut(
            "PATCH", path, self.fields(true, 0, ["Content-Length": "3", "Transfer-Encoding": "-"]), "ab")
        try self.folder.write("abc", to: ResumableSender.fileName(path))
        let answer = try self.sender.send("GET", path)
        #expect(answer["Upload-Complete"] == "?1" && answer.parts.count == 1)
        #expect(self.folder.read("b.txt") == "abc")
    }

    @Test func aWrongOffsetDestroysNothing() throws {
        let path = try self.create(["Upload-Length": "4"])
        try self.sender.send("PATCH", path, self.fields(false, 0), "ab")
        for offset in [0, 1, 3, 4, 5, 999_999_999_999_999] {
            let refusal = self.sender.expectRefusal(409) {
                try self.sender.send("PATCH", path, self.fields(true, offset), "cd")
            }
            let fields = Dictionary(refusal?.fields.map { ($0.name, $0.value) } ?? []) { $1 }
            #expect(fields["Upload-Offset"] == "2" && fields["Upload-Complete"] == "?0")
            let problem = try JSONSerialization.jsonObject(with: Data(try #require(refusal?.problem).utf8))
            let object = try #require(problem as? [String: Any])
            #expect(
                object["type"] as? String == "https://iana.org/assignments/http-problem-types#mismatching-upload-offset"
            )
            #expect(object["expected-offset"] as? Int == 2 && object["provided-offset"] as? Int == offset)
        }
        #expect(try self.sender.send("PATCH", path, self.fields(true, 2), "cd").parts.count == 1)
        #expect(self.folder.read("b.txt") == "abcd")
    }

    /// The offset that a sender learns is one that it may go on at, whatever else still arrives.
    @Test func aQuestionEndsTheRequestBefore() throws {
        let uploads = self.sender.uploads
        let path = try #require(try self.sender.send("POST", "/x", self.fields(false), to: uploads)["Location"])
        let dead = try self.sender.begin("PATCH", path, self.fields(true, 0), to: uploads)
        try dead.receive("ab")
        #expect(try self.sender.send("HEAD", path, to: uploads)["Upload-Offset"] == "2")
        self.sender.expectRefusal(409) { try dead.receive("X") }
        #expect(try self.sender.send("PATCH", path, self.fields(true, 2), "c", to: uploads).parts.count == 1)
        #expect(self.folder.read("x") == "abc")
    }

    @Test func lengthsMustAgree() throws {
        let path = try self.create(["Upload-Length": "4"])
        let wrong = [
            self.fields(false, 0, ["Upload-Length": "5"]),
            self.fields(true, 0, ["Content-Length": "3", "Transfer-Encoding": "-"]),
            self.fields(true, 0, ["Content-Length": "9223372036854775807", "Transfer-Encoding": "-"]),
            self.fields(true, 0, ["Content-Length": "4", "Upload-Length": "5", "Transfer-Encoding": "-"]),
        ]
        for fields in wrong {
            let refusal = self.sender.expectRefusal(400) { try self.sender.send("PATCH", path, fields) }
            #expect(refusal?.problem?.contains("#inconsistent-upload-length") == true)
        }
        self.sender.expectRefusal(400) { try self.sender.send("PATCH", path, self.fields(true, 0), "abc") }
        #expect(try self.state(path) == ["3", "4", "?0"])
        // Only an upload that exceeds its length is removed.
        self.sender.expectRefusal(413) { try self.sender.send("PATCH", path, self.fields(false, 3), "de") }
        self.sender.expectRefusal(404) { try self.sender.send("HEAD", path) }
        self.sender.expectRefusal(413) { _ = try self.create(["Upload-Length": "1001"]) }
        let unbounded = try self.create()
        self.sender.expectRefusal(413) {
            try self.sender.send("PATCH", unbounded, self.fields(false, 0), String(repeating: "a", count: 1001))
        }
        #expect(self.folder.names == [])
    }

    @Test func whatDoesNotFitTheProtocolIsRefused() throws {
        let path = try self.create()
        self.sender.expectRefusal(415) {
            try self.sender.send("PATCH", path, self.fields(true, 0, ["Content-Type": "text/plain"]))
        }
        for number in ["", "-1", "+1", "?1", "1.0", "1000000000000000", "1, 1"] {
            self.sender.expectRefusal(400) {
                try self.sender.send("PATCH", path, self.fields(true, 0, ["Upload-Offset": number]))
            }
        }
        for value in ["", "1", "?2", "?1, ?1", "true"] {
            self.sender.expectRefusal(400) {
                try self.sender.send("PATCH", path, self.fields(true, 0, ["Upload-Complete": value]))
            }
            // Without a valid field, it is no request of the draft.
            #expect(
                ResumableUploads.request(
                    RequestHead(method: "POST", target: "/", fields: [("Upload-Complete", value)])) == nil)
        }
        self.sender.expectRefusal(400) { try self.sender.send("HEAD", path, [:], "a") }
        #expect(
            try self.sender.send("PATCH", path, self.fields(true, 0, ["Upload-Complete": "?1;a=b"])).parts.count == 1)
        #expect(try self.sender.send("DELETE", path).status == 204)
        for method in ["HEAD", "GET", "PATCH", "DELETE"] {
            for path in [path, "/files/", "/files/../x"] {
                self.sender.expectRefusal(404) { try self.sender.send(method, path, self.fields(true, 0)) }
            }
        }
        // Without a folder, an upload that is whole is received as an ordinary body.
        let service = try UploadService(folder: nil)
        let head = { RequestHead(method: "POST", target: "/", fields: [("Upload-Complete", $0)]) }
        #expect(try service.receiver(for: head("?1")) is RequestReceiver)
        self.sender.expectRefusal(501) { _ = try service.receiver(for: head("?0")) }
    }

    @Test(arguments: [
        ("inline; filename=\"file name.jpg\"; filename*=UTF-8''na%C3%AFve.jpg", "naïve.jpg"),
        ("attachment;filename=a", "a"), ("inline; filename*=latin1''x; filename=b", "b"), ("inline", nil),
        ("inline; filename=\"", nil), ("", nil),
    ]) func aDispositionNamesTheFile(field: String, name: String?) throws {
        let answer = try self.sender.send("POST", "/p", self.fields(true, nil, ["Content-Disposition": field]), "a")
        #expect(answer.parts.first?.filename == name && answer.parts.first?.name == name ?? "p")
    }
}
