package import BlobCore
import BlobPlatform
import CCurl

/// The status line and header fields of a response, parsed line by line within fixed limits.
package struct ResponseHead: Sendable {
    /// The maximum length of all heads of one request together, in bytes; many servers send at most 8 KiB.
    static let maximumByteCount = 64 * 1024
    static let maximumLineCount = 100
    static let maximumInformationalCount = 100
    /// The initial capacities for the fields and for their bytes.
    private static let (usualFieldCount, usualByteCount) = (16, 512)

    private var version = ""
    /// The status of the most recent head; 0 before the first head.
    package private(set) var status = 0
    package private(set) var reason = ""
    /// The names and values of the fields, concatenated. Most are never converted to strings.
    private var bytes: [UInt8] = []
    /// The offsets at which the names and values end.
    private var ends: [(name: Int, value: Int)] = []

    /// True once the blank line after the last head has been parsed. A truncated response would otherwise look
    /// complete.
    package private(set) var isComplete = false

    /// The announced length of the body in bytes; nil if none was announced.
    package private(set) var contentLength: Int64?
    private var byteCount = 0
    private var lineCount = 0
    private var informationalCount = 0

    package init() {}

    /// True once the head is complete and not informational.
    package var isFinal: Bool { self.isComplete && self.status >= 200 }

    package var isSuccess: Bool { self.isFinal && self.status < 300 }

    /// True if the server will close the connection after this response (RFC 9112, sections 6.3 and 9.3).
    package var announcesClose: Bool {
        let options = (self.value(of: "connection") ?? "").lowercased()
        let isFramed = self.contentLength != nil || self.value(of: "transfer-encoding") != nil
        return options.contains("close") || !isFramed && self.status != 204
            || self.version == "HTTP/1.0" && !options.contains("keep-alive")
    }

    /// The fields, in order.
    package var fields: [(name: String, value: String)] {
        self.ends.indices.map { index in
            let field = self.field(index)
            return (String(decoding: field.name, as: UTF8.self), String(decoding: field.value, as: UTF8.self))
        }
    }

    /// Returns the first value of a field. The name must be in lower case.
    package func value(of name: String) -> String? { self.values(of: name).first }

    /// Returns the values of a field, in order. The name must be in lower case.
    package func values(of name: String) -> [String] {
        self.ends.indices.lazy.map(self.field).filter { $0.name.equalsIgnoringCase(name) }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The value of `Location`; nil if the field is missing. Bytes that are invalid in a URL are percent-encoded as
    /// received, so that they name the same path in any encoding.
    package var location: String? {
        self.ends.indices.lazy.map(self.field).first { $0.name.equalsIgnoringCase("location") }
            .map { PercentEncoding.encode($0.value, leaving: Self.asciiCharacters) }
    }

    private static let asciiCharacters = ByteSet(0x00...0x7F)

    /// The encodings of the representation, in lower case and in the order in which they were applied (RFC 9110,
    /// section 8.4).
    ///
    /// Omits `identity`, which encodes nothing, and `aws-chunked`, the framing of a request, which some object stores
    /// retain.
    package var contentCodings: [String] {
        self.values(of: "content-encoding").flatMap { $0.split(separator: ",") }
            .map { $0.filter { !$0.isWhitespace }.lowercased() }
            .filter { !["", "identity", "aws-chunked"].contains($0) }
    }

    /// The time of the response by the server's clock, in seconds since 1970; nil if the response has no valid date.
    package var date: Int64? { self.value(of: "date").flatMap(Self.seconds) }

    /// The longest delay that a server can request, in seconds: a day.
    private static let longestRetryDelay: Int64 = 86_400

    /// The delay in a `Retry-After` field, specified in seconds or as a date (RFC 9110, section 10.2.3), at most a day;
    /// nil if the field is missing or invalid.
    package var retryDelay: Duration? {
        guard let text = self.value(of: "retry-after"),
            let seconds = Int64(text) ?? Self.seconds(text).map({ max(0, $0 - Int64(time(nil))) }), seconds >= 0
        else { return nil }
        return .seconds(min(seconds, Self.longestRetryDelay))
    }

    /// Returns the time of a date in any of HTTP's formats, in seconds since 1970; nil for any other text.
    private static func seconds(_ date: String) -> Int64? {
        let seconds = Int64(blob_curl_date(date))
        return seconds < 0 ? nil : seconds
    }

    /// Returns an error message for this response, which must be a refusal. Includes the beginning of its explanation.
    package func refusalMessage(_ explanation: some Collection<UInt8>) -> String {
        BlobError.refusalMessage(
            self.status, self.reason, location: self.value(of: "location"), explanation)
    }

    private func field(_ index: Int) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
        let (start, ends) = (index == 0 ? 0 : self.ends[index - 1].value, self.ends[index])
        return (self.bytes[start..<ends.name], self.bytes[ends.name..<ends.value])
    }

    /// Parses a line, including its line ending.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if the head exceeds a limit; ``BlobError/Code/corrupted`` for a
    ///   malformed status line or an invalid `Content-Length`.
    package mutating func parse(_ line: UnsafeRawBufferPointer) throws(BlobError) {
        self.byteCount += line.count
        guard self.byteCount <= Self.maximumByteCount else {
            throw Self.limitError("The response has more header bytes than the limit of \(Self.maximumByteCount)")
        }
        var line = line[...]
        while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { line = line.dropLast() }
        if line.starts(with: "HTTP/".utf8) { return try self.begin(line) }
        guard !self.isComplete else { return }  // A trailer after a chunked body.
        if line.isEmpty {
            self.isComplete = true
        } else {
            try self.add(line)
        }
    }

    private mutating func begin(_ line: UnsafeRawBufferPointer.SubSequence) throws(BlobError) {
        if (100..<200).contains(self.status) {
            self.informationalCount += 1
            guard self.informationalCount <= Self.maximumInformationalCount else {
                throw Self.limitError(
                    "The server sent more informational responses than the limit of \(Self.maximumInformationalCount)")
            }
        }
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let status = Int(String(decoding: parts[1], as: UTF8.self)),
            (100..<1000).contains(status)
        else { throw BlobError(.corrupted, "The response begins with a malformed status line.") }
        self.version = String(decoding: parts[0], as: UTF8.self)
        self.status = status
        self.reason = parts.count > 2 ? String(decoding: parts[2], as: UTF8.self) : ""
        (self.bytes, self.ends, self.isComplete, self.contentLength, self.lineCount) = ([], [], false, nil, 0)
        self.bytes.reserveCapacity(Self.usualByteCount)
        self.ends.reserveCapacity(Self.usualFieldCount)
    }

    private mutating func add(_ line: UnsafeRawBufferPointer.SubSequence) throws(BlobError) {
        self.lineCount += 1
        guard self.lineCount <= Self.maximumLineCount else {
            throw Self.limitError("The response has more header lines than the limit of \(Self.maximumLineCount)")
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }  // Not a field.
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var value = line[(colon + 1)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value = value.dropLast() }
        let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
        self.bytes.append(contentsOf: name)
        let end = self.bytes.count
        self.bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: value))
        self.ends.append((end, self.bytes.count))
        guard name.equalsIgnoringCase("content-length") else { return }
        // libcurl ignores a length that is too large, and uses the second of two lengths.
        let digits = value.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard digits.count == value.count, let length = Int64(String(decoding: digits, as: UTF8.self)),
            self.contentLength ?? length == length
        else { throw BlobError(.corrupted, "The response has an invalid Content-Length.") }
        self.contentLength = length
    }

    private static func limitError(_ message: String) -> BlobError {
        BlobError(.limitExceeded, "\(message).")
    }
}

extension RandomAccessCollection<UInt8> {
    /// Returns true if the text equals `name`, which is in lower case, ignoring the case of ASCII letters (RFC 9110,
    /// section 5.1).
    fileprivate func equalsIgnoringCase(_ name: String) -> Bool {
        self.count == name.utf8.count
            && zip(self, name.utf8).allSatisfy { byte, lower in
                byte == lower || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == lower
            }
    }
}
