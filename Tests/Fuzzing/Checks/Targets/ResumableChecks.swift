import BlobCore
import BlobReceiving
import BlobTestSupport
import BlobTransfer
import Foundation

/// Checks resumable uploads: the requests of a script, of tus and of the draft, one after the other.
///
/// In the target and the fields, `$1` is the path of the first created upload, `$2` is the path of the second one.
func checkResumable(_ bytes: [UInt8]) throws {
    let folder = try TemporaryFolder()
    try folder.makeFolder("received")
    var client = ResumableClient(folder: folder.path("received"))
    for request in ScriptedRequest.list(bytes).prefix(12) { try client.send(request) }
    try client.removeUploads()
    try require(folder.names == ["received"], "files outside the folder: \(folder.names)")
}

/// Sends requests, and compares the uploads with the bytes that were sent.
private struct ResumableClient {
    private static let maximumByteCount: Int64 = 10_000

    private let folder: String
    private let uploads: ResumableUploads
    /// The paths of the uploads, in the order of their creation.
    private var paths: [String] = []
    /// The bytes that have arrived, by path.
    private var contents: [String: [UInt8]] = [:]
    private var publishedNames: Set<String> = []
    /// The hidden files of uploads whose paths were never reported, because their creation was cut.
    private var unknownNames: Set<String> = []

    init(folder: String) {
        self.folder = folder
        self.uploads = ResumableUploads(in: UploadFolder(folder), maximumByteCount: Self.maximumByteCount)
    }

    private var names: Set<String> { Set((try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []) }

    mutating func send(_ request: ScriptedRequest) throws {
        var request = request
        request.target = self.completed(request.target)
        request.fields = request.fields.map { ($0.name, self.completed($0.value)) }
        let (head, names) = (request.head, self.names)
        var receiver: (any BodyReceiver)?
        var (path, sentByteCount, answer) = (head.target, 0, RequestAnswer?.none)
        do {
            receiver = try self.uploads.receiver(for: head)
            guard let receiver else { return }
            for piece in [request.body.prefix(5), request.body.dropFirst(5)] where !piece.isEmpty {
                sentByteCount += piece.count
                try piece.withUnsafeBytes { try receiver.receive($0) }
            }
            if request.isCut { receiver.abandon() } else { answer = try receiver.answer() }
        } catch let error as BlobError {
            let refusal = error.answer
            try require((400..<500).contains(refusal.status), "No fault of a client: \(error)")
            try checkFields(refusal.fields)
            try require(receiver != nil || self.names.isSubset(of: names), "a refused request made a file")
            receiver?.abandon()
        }
        let fields = (receiver?.interimAnswer?.fields ?? []) + (answer?.fields ?? [])
        if let location = fields.first(where: { $0.name == "Location" })?.value {
            path = location
            if self.contents[path] == nil {
                self.paths.append(path)
                // The draft ignores this field of tus.
                let isOfTus = fields.contains { $0.name == "Tus-Resumable" }
                self.contents[path] = self.parts(isOfTus ? head.values(of: "upload-concat").first ?? "" : "")
            }
        }
        if request.isCut {
            let known = Set(self.contents.keys.flatMap { [Self.fileName($0), Self.fileName($0) + ".json"] })
            self.unknownNames.formUnion(self.names.subtracting(names).subtracting(known))
        }
        guard let content = self.contents[path] else { return }
        self.contents[path] = content + request.body.prefix(sentByteCount)
        if let answer { try self.check(answer, path) }
        // The offset, as a sender finds it before it continues.
        guard let offset = try self.offset(of: path) else {
            self.contents[path] = nil
            return
        }
        // A request that did not succeed may have stored any number of its bytes.
        let storedByteCounts = (answer == nil ? 0 : sentByteCount)...sentByteCount
        try require(storedByteCounts.contains(offset - content.count), "\(offset) bytes after \(content.count)")
        self.contents[path] = content + request.body.prefix(offset - content.count)
    }

    /// Removes all uploads, and checks that only the published files remain.
    mutating func removeUploads() throws {
        for path in self.contents.keys {
            let fields = [(name: "Tus-Resumable", value: "1.0.0")]
            let head = RequestHead(method: "DELETE", target: path, fields: fields)
            _ = try self.uploads.receiver(for: head)?.answer()
        }
        let others = self.names.subtracting(self.publishedNames).subtracting(self.unknownNames)
        try require(others.isEmpty, "other files: \(others)")
        try require(self.publishedNames.isSubset(of: self.names), "published files are missing")
    }

    /// Returns the name of the hidden file with the bytes of an upload.
    private static func fileName(_ path: String) -> String { ".\(path.dropFirst("/files/".count)).upload" }

    private func completed(_ text: String) -> String {
        guard text.contains("$") else { return text }
        return self.paths.prefix(9).enumerated().reduce(text) { text, path in
            text.replacingOccurrences(of: "$\(path.offset + 1)", with: path.element)
        }
    }

    /// Returns the bytes of a final upload; none for any other.
    private func parts(_ concatenation: String) -> [UInt8] {
        guard concatenation.hasPrefix("final;") else { return [] }
        return concatenation.dropFirst("final;".count).split(separator: " ").flatMap { url in
            self.contents.first { url.hasSuffix($0.key) }?.value ?? []
        }
    }

    /// Returns the offset at which an upload continues; nil if it does not exist any more.
    private mutating func offset(of path: String) throws -> Int? {
        let fields = [(name: "Tus-Resumable", value: "1.0.0")]
        do {
            let receiver = try self.uploads.receiver(for: RequestHead(method: "HEAD", target: path, fields: fields))
            let answer = try receiver?.answer()
            if let answer { try self.check(answer, path) }
            return answer?.fields.first { $0.name == "Upload-Offset" }.flatMap { Int($0.value) }
        } catch let error as BlobError {
            // With 400, the complete bytes differ from the digest that was stated at creation, and are removed.
            try require([400, 404].contains(error.answer.status), "HEAD fails: \(error)")
            return nil
        }
    }

    /// Checks an answer, and the file that it reports.
    private mutating func check(_ answer: RequestAnswer, _ path: String) throws {
        try require((200..<300).contains(answer.status), "status \(answer.status)")
        try checkFields(answer.fields)
        let number = { (name: String) in answer.fields.first { $0.name == name }.flatMap { Int64($0.value) } }
        let (offset, length) = (number("Upload-Offset") ?? 0, number("Upload-Length") ?? Self.maximumByteCount)
        try require(0 <= offset && offset <= length && length <= Self.maximumByteCount, "\(offset) of \(length) bytes")
        for part in answer.parts {
            let content = self.contents[path] ?? []
            guard let file = part.file, let bytes = FileManager.default.contents(atPath: file) else {
                throw FuzzFailure(description: "a part without a file")
            }
            let name = String(file.dropFirst(self.folder.count + 1))
            try require(file == "\(self.folder)/\(name)" && !name.contains("/"), "a file at \(file)")
            try require(Array(bytes) == content && part.byteCount == content.count, "other bytes in the file")
            var hasher = StatedAlgorithm.sha256.makeHasher()
            content.withUnsafeBytes { hasher?.update($0) }
            try require(part.sha256 == hasher?.finalizeHexadecimal(), "another digest")
            try require(!part.line.contains("\n"), "more than a line for a part")
            let again = try JSONDecoder().decode(ReceivedPart.self, from: Data(part.line.utf8))
            try require(again == part, "another part by its line")
            try require(self.publishedNames.insert(name).inserted, "two parts with one file")
        }
    }
}
