import BlobCore
import BlobReceiving
import BlobTestSupport

/// Checks that the events do not depend on the pieces in which a body comes.
///
/// The boundary is that of the first line, as in a body that begins with a delimiter.
func checkMultipart(_ bytes: [UInt8]) throws {
    let line = bytes.prefix { $0 != 0x0D }
    let isDelimiter = line.starts(with: Array("--".utf8)) && (3...72).contains(line.count)
    let boundary = isDelimiter ? String(decoding: line.dropFirst(2), as: UTF8.self) : "B"
    let whole = try Form(bytes, boundary) { $0 }
    var random = SplitMix64(seed: UInt64(bytes.count))
    for (name, other) in [
        ("single bytes", try Form(bytes, boundary) { _ in 1 }),
        ("pieces", try Form(bytes, boundary) { _ in Int.random(in: 1...40, using: &random) }),
    ] {
        try require(other.code == whole.code, "\(other.code as Any) in \(name), otherwise \(whole.code as Any)")
        try require(other.parts == whole.parts, "other parts in \(name)")
    }
    let delimiter = Array("\r\n--\(boundary)".utf8)
    for part in whole.parts where part.isComplete {
        let content = Array("\r\n".utf8) + part.content
        let starts = content.indices.filter { content[$0] == 0x0D }
        try require(!starts.contains { content[$0...].starts(with: delimiter) }, "a part contains the delimiter")
    }
    try require(whole.parts.reduce(0) { $0 + $1.content.count } <= bytes.count, "more bytes than there are")
}

/// The parts of a body, as far as they came, and how it ended.
private struct Form {
    struct Part: Equatable {
        var header: MultipartHeader
        var content: [UInt8] = []
        var isComplete = false
    }

    var parts: [Part] = []
    var code: BlobError.Code?

    /// - Parameter size: Returns the length of the next piece, given the number of bytes left.
    init(_ bytes: [UInt8], _ boundary: String, _ size: (Int) -> Int) throws {
        do {
            var parser = try MultipartParser(boundary: boundary)
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(size(rest.count))
                rest = rest.dropFirst(piece.count)
                try piece.withUnsafeBytes { try parser.parse($0) { try self.handle($0) } }
            }
            try parser.finish()
            try require(self.parts.last?.isComplete ?? true, "the last part has no end")
        } catch let error as BlobError {
            self.code = try faultOfInput(error)
        }
    }

    private mutating func handle(_ event: MultipartParser.Event) throws {
        let isBetween = self.parts.last?.isComplete ?? true
        switch event {
        case .begin(let header):
            try require(isBetween, "a part within a part")
            self.parts.append(Part(header: header))
        case .bytes(let bytes):
            try require(!isBetween && !bytes.isEmpty, "bytes between parts, or none")
            self.parts[self.parts.count - 1].content += bytes
        case .end:
            try require(!isBetween, "an end between parts")
            self.parts[self.parts.count - 1].isComplete = true
        }
    }
}
