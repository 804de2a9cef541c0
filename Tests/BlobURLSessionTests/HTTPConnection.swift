import BlobTestSupport
import Foundation

/// A connection and what was read ahead of it.
final class HTTPConnection {
    private let descriptor: CInt
    private var buffer = Data()

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    func endWriting() { shutdown(self.descriptor, CInt(SHUT_WR)) }

    func write(_ text: String) { self.write(Data(text.utf8)) }

    func write(_ data: Data) {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { sendQuietly(self.descriptor, $0) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// The next request line and headers; nil at the end of the connection.
    func readHead() -> ReceivedRequest? {
        guard let line = self.readLine(), case let words = line.split(separator: " "), words.count == 3 else {
            return nil
        }
        var request = ReceivedRequest(method: String(words[0]), path: String(words[1]))
        while let line = self.readLine() {
            if line.isEmpty { return request }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
            request.headers.append((String(parts[0]), value))
        }
        return nil
    }

    /// A line without its end; nil when the connection ended before.
    func readLine() -> String? {
        while true {
            if let end = self.buffer.firstIndex(of: 10) {
                let line = String(decoding: self.buffer[..<end], as: UTF8.self)
                self.buffer = self.buffer[(end + 1)...]
                return line.trimmingCharacters(in: CharacterSet(charactersIn: "\r"))
            }
            guard self.fill() else { return nil }
        }
    }

    /// 1 to `maximumCount` bytes; nil when the connection ended before.
    func read(atMost maximumCount: Int) -> Data? {
        guard !self.buffer.isEmpty || self.fill() else { return nil }
        let bytes = self.buffer.prefix(maximumCount)
        self.buffer = self.buffer.dropFirst(bytes.count)
        return bytes
    }

    private func fill() -> Bool {
        var chunk = Data(count: 1 << 16)
        let count = chunk.withUnsafeMutableBytes { recv(self.descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return false }
        self.buffer = self.buffer.isEmpty ? chunk.prefix(count) : self.buffer + chunk.prefix(count)
        return true
    }
}

/// What is left of the body of a request.
struct HTTPBody {
    private enum Framing {
        case none
        case length(Int)
        case chunks(leftOfChunk: Int)
    }

    private var framing: Framing
    private(set) var isComplete: Bool

    init(_ request: ReceivedRequest) {
        if request.value(of: "Transfer-Encoding")?.lowercased() == "chunked" {
            self.framing = .chunks(leftOfChunk: 0)
        } else if let count = request.value(of: "Content-Length").flatMap(Int.init), count > 0 {
            self.framing = .length(count)
        } else {
            self.framing = .none
        }
        if case .none = self.framing { self.isComplete = true } else { self.isComplete = false }
    }

    /// The next bytes; nil at the end of the body, and when the connection ends before that.
    mutating func read(from connection: HTTPConnection) -> Data? {
        guard !self.isComplete else { return nil }
        switch self.framing {
        case .none: return nil
        case .length(let count):
            guard let bytes = connection.read(atMost: count) else { return nil }
            self.framing = .length(count - bytes.count)
            self.isComplete = count == bytes.count
            return bytes
        case .chunks(0):
            guard let line = connection.readLine(), let count = Int(line.prefix { $0 != ";" }, radix: 16) else {
                return nil
            }
            guard count > 0 else {
                while let trailer = connection.readLine() {
                    if trailer.isEmpty { self.isComplete = true }
                    if trailer.isEmpty { break }
                }
                return nil
            }
            self.framing = .chunks(leftOfChunk: count)
            return self.read(from: connection)
        case .chunks(let count):
            guard let bytes = connection.read(atMost: count) else { return nil }
            self.framing = .chunks(leftOfChunk: count - bytes.count)
            if count == bytes.count, connection.readLine() != "" { return nil }
            return bytes
        }
    }
}
