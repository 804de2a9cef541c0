import BlobReceiving
import BlobTransfer

/// A request of a script in the format of the `.http` files of editors: a line with the method and the target, the
/// header fields, a blank line, and the body. Lines that begin with `###` separate the requests.
struct ScriptedRequest {
    let method: String
    var target: String
    var fields: [RequestHead.Field] = []
    /// The bytes of the body that a server passes on.
    var body: [UInt8] = []
    /// True if the connection ends before the stated length.
    var isCut = false

    var head: RequestHead { RequestHead(method: self.method, target: self.target, fields: self.fields) }

    static func list(_ bytes: some Collection<UInt8>) -> [Self] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        return lines.split { $0.starts(with: "###".utf8) }.compactMap(Self.init)
    }

    /// Fails for a first line that no server passes on, and leaves out such fields.
    private init?(_ lines: ArraySlice<[UInt8]>) {
        let head = lines.prefix { !$0.isEmpty && $0 != [0x0D] }.map { String(decoding: $0, as: UTF8.self) }
        let words = (head.first ?? "").split(whereSeparator: \.isWhitespace)
        guard words.count >= 2, words[0...1].allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }) else {
            return nil
        }
        (self.method, self.target) = (String(words[0]), String(words[1]))
        for line in head.dropFirst() {
            let text = String(decoding: line.utf8.reversed().drop { $0 <= 0x20 }.reversed(), as: UTF8.self)
            guard let field = BlobHTTPField(line: text), (try? field.validate(reserved: [], "")) != nil else {
                continue
            }
            self.fields.append((field.name, field.value))
        }
        let rest = Array(lines.dropFirst(head.count + 1).joined(separator: "\n".utf8))
        if let byteCount = self.head.contentLength {
            (self.body, self.isCut) = (Array(rest.prefix(Int(clamping: byteCount))), byteCount > rest.count)
        } else if self.head.value(of: "transfer-encoding") != nil {
            self.body = rest
        }
    }
}

/// Checks that a server can send fields as they are.
func checkFields(_ fields: [RequestHead.Field]) throws {
    for (name, value) in fields {
        do {
            try BlobHTTPField(name, value).validate(reserved: [], "")
        } catch {
            throw FuzzFailure(description: "a field that cannot be sent: \(name): \(value)")
        }
    }
}
