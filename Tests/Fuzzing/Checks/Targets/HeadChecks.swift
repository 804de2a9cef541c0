import ArchiveSource
import BlobCore
import BlobReceiving
import BlobTransfer
import Foundation

/// Checks the head of a response, or the answer to a request. The first byte selects which.
func checkHead(_ bytes: [UInt8]) throws {
    guard let first = bytes.first else { return }
    if first % 2 == 0 { try checkResponse(Array(bytes.dropFirst())) } else { try checkRequest(bytes.dropFirst()) }
}

// MARK: Responses

/// True if libcurl is present, which parses dates.
private let canParseDates = (try? CurlLibrary.load()) != nil

/// Checks that the facts of a head are within their ranges, and that its fields are the same when they are sent again.
private func checkResponse(_ bytes: [UInt8]) throws {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    let (head, code) = try parsed(lines)
    try require(head.fields.count <= 100, "more fields than the limit")
    try require(head.status == 0 || (100..<1000).contains(head.status), "status \(head.status)")
    if canParseDates {
        let delay = head.retryDelay ?? .zero
        try require((.zero ... .seconds(86_400)).contains(delay), "a delay of \(delay)")
        try require(head.date ?? 0 >= 0, "a date before 1970")
    }
    try require(head.location?.utf8.allSatisfy { $0 < 0x80 } ?? true, "a location that is not ASCII")
    try require(!head.contentCodings.contains { $0.isEmpty || $0.contains(",") }, "a list as one coding")
    if code == nil {
        let length = head.value(of: "content-length").flatMap { Int64($0) }
        try require(head.contentLength ?? 0 >= 0 && head.contentLength == length, "another length than the field's")
    }
    for (name, _) in head.fields where name.utf8.allSatisfy({ $0 < 0x80 }) {
        let values = head.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        try require(head.values(of: name.lowercased()) == values, "other values of \(name)")
    }
    for line in lines {
        guard let field = BlobHTTPField(line: String(decoding: line, as: UTF8.self)) else { continue }
        try require(BlobHTTPField(line: field.line) == field, "another field by the line '\(field.line)'")
    }
    // A carriage return at the end of a value would be a part of the line ending.
    guard code == nil, head.status > 0, !bytes.contains(0x0D) else { return }
    let sent = ["HTTP/1.1 \(head.status) \(head.reason)"] + head.fields.map { "\($0.name): \($0.value)" }
    let (again, newCode) = try parsed(sent.map { Array("\($0)\r".utf8) })
    try require(
        newCode == nil && again.status == head.status && again.reason == head.reason
            && again.fields.elementsEqual(head.fields, by: ==) && again.contentLength == head.contentLength,
        "another head when it is sent again")
}

/// Parses lines without their line feeds.
private func parsed(_ lines: [[UInt8]]) throws -> (head: ResponseHead, code: BlobError.Code?) {
    var head = ResponseHead()
    do {
        for line in lines { try (line + [UInt8(ascii: "\n")]).withUnsafeBytes { try head.parse($0) } }
    } catch let error as BlobError {
        try require([.corrupted, .limitExceeded].contains(error.code), "No fault of a server: \(error)")
        return (head, error.code)
    }
    return (head, nil)
}

// MARK: Requests

/// Serves a text and an archive to `localhost`.
private let service: ServedBlobs = {
    let text = MemorySource(Array((0..<500).map { "\($0)\n" }.joined().utf8), validator: .strong("fuzz"))
    let tar = ArchiveContainer(FuzzContent.tar.source, format: .tar)
    do {
        return try ServedBlobs(
            [.init("text", .source(text)), .init("tar", .container(tar))], registry: BlobRegistry(), token: nil,
            hosts: ["localhost"])
    } catch {
        fatalError("Nothing can be served: \(error)")
    }
}()

/// Checks that the answer is a refusal, or has the stated length and fields that can be sent; that ranges have the
/// bytes of the whole content; and that the answers to GET and HEAD differ in the body only.
private func checkRequest(_ bytes: some Collection<UInt8>) throws {
    guard var request = ScriptedRequest.list(bytes).first else { return }
    if request.head.value(of: "host") == nil { request.fields.append(("Host", "localhost")) }
    let answer = try Answer(request.head)
    guard request.method == "GET" else { return }
    request.fields.removeAll { ["range", "if-range"].contains($0.name.lowercased()) }
    let whole = try Answer(request.head)
    let head = try Answer(RequestHead(method: "HEAD", target: request.target, fields: request.fields))
    try require(
        head.status == whole.status && head.byteCount == whole.byteCount
            && head.fields.elementsEqual(whole.fields, by: ==), "HEAD \(head.status), but GET \(whole.status)")
    try require(whole.status != 206 && whole.status != 416, "an answer with ranges without a request for them")
    guard answer.status == 206 else {
        try require(answer.status == whole.status || answer.status == 416, "\(answer.status) because of a range")
        return
    }
    try require(whole.status == 200, "a range of an answer with \(whole.status)")
    guard let type = answer["Content-Type"], let start = type.firstRange(of: "boundary=")?.upperBound else {
        return try whole.checkRange(answer["Content-Range"], is: answer.body)
    }
    let delimiter = Array("\r\n--\(type[start...])".utf8)
    let parts = answer.body.split(separator: delimiter, omittingEmptySubsequences: false)
    let isClosed = parts.first == [] && parts.last?.elementsEqual("--\r\n".utf8) ?? false
    try require(isClosed && parts.count > 3, "not a list of ranges")
    for part in parts.dropFirst().dropLast() {
        let end = part.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? part.endIndex
        let start = part[..<end].firstRange(of: Array("Content-Range: ".utf8))?.upperBound ?? end
        try whole.checkRange(String(decoding: part[start..<end].dropLast(4), as: UTF8.self), is: Array(part[end...]))
    }
}

/// The answer of the service, with its body.
private struct Answer {
    let status: Int
    let fields: [RequestHead.Field]
    let byteCount: Int64?
    var body: [UInt8] = []

    init(_ head: RequestHead) throws {
        let answer: RequestAnswer
        do throws(BlobError) {
            answer = try service.receiver(for: head).answer()
        } catch {
            answer = error.answer
            try require((400..<500).contains(answer.status), "No fault of a client: \(error)")
        }
        (self.status, self.fields, self.byteCount) = (answer.status, answer.fields, answer.byteCount)
        try require((200..<500).contains(self.status), "status \(self.status)")
        try checkFields(self.fields)
        guard let body = answer.body else { return }
        let outcome = try Outcome(of: body)
        try require(outcome.isWhole, "a body without an end: \(outcome.code as Any)")
        try require(Int64(outcome.bytes.count) == self.byteCount ?? Int64(outcome.bytes.count), "another length")
        self.body = outcome.bytes
    }

    subscript(_ name: String) -> String? { self.fields.first { $0.name == name }?.value }

    /// Checks that a range of this whole content has the bytes.
    func checkRange(_ field: String?, is bytes: [UInt8]) throws {
        guard let field, let match = field.wholeMatch(of: /bytes ([0-9]+)-([0-9]+)\/([0-9]+)/),
            let first = Int(match.output.1), let last = Int(match.output.2), first <= last, last < self.body.count,
            Int(match.output.3) == self.body.count
        else { throw FuzzFailure(description: "an impossible range: \(field ?? "none")") }
        try require(bytes.elementsEqual(self.body[first...last]), "other bytes of the range \(field)")
    }
}
