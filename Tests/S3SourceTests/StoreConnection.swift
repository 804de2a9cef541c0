import BlobTestSupport
import Foundation

/// A connection to the store. Used by one thread.
struct StoreConnection {
    private let descriptor: CInt
    private var received: [UInt8] = []

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    func send(_ text: String) { self.send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { sendQuietly(self.descriptor, $0) } }

    /// Returns the next request with its whole body; nil at the end of the connection.
    mutating func receive() -> StoringStore.Request? {
        var end = self.received.firstRange(of: Array("\r\n\r\n".utf8))
        while end == nil {
            guard self.receiveMore() else { return nil }
            end = self.received.firstRange(of: Array("\r\n\r\n".utf8))
        }
        guard let end else { return nil }
        let lines = String(decoding: self.received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        self.received.removeSubrange(..<end.upperBound)
        let words = lines[0].split(separator: " ")
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
        }
        let target = words[1].split(separator: "?", maxSplits: 1)
        let query = (target.dropFirst().first ?? "").split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            return (name: String(parts[0]), value: String(parts.dropFirst().first ?? ""))
        }
        var request = StoringStore.Request(
            method: String(words[0]), path: String(target[0]), query: query,
            fields: Dictionary(fields) { first, _ in first })
        if request.fields["expect"] != nil { self.send("HTTP/1.1 100 Continue\r\n\r\n") }
        let count = request.fields["content-length"].flatMap { Int($0) } ?? 0
        while self.received.count < count { guard self.receiveMore() else { return nil } }
        request.body = Array(self.received[..<count])
        self.received.removeSubrange(..<count)
        return request
    }

    private mutating func receiveMore() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            let count = recv(self.descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { self.received += buffer[..<count] }
            return count > 0
        }
    }
}
