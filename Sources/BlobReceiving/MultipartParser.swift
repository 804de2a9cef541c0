import BlobStreams
import Foundation

/// Takes a `multipart/form-data` body apart while it arrives, in pieces of any size (RFC 2046, section 5.1; RFC 7578).
///
/// Keeps nothing but the header of one part. Stricter than the grammar where peers disagree: a line that begins with
/// the delimiter and goes on is refused, as are line ends without a carriage return, folded fields and a field twice.
package struct MultipartParser {
    package enum Event {
        case begin(MultipartHeader)
        /// Some bytes of the part; the memory is the caller's, or valid during the call only.
        case bytes(UnsafeRawBufferPointer)
        case end
    }

    package struct Limits: Sendable {
        /// As many parts as Django takes fields tenfold.
        package var partCount = 10_000
        /// The header of one part; real ones have some 200 bytes.
        package var headerByteCount = 16 * 1024
        /// What may stand before the first part, though hardly anybody writes something there.
        package var preambleByteCount = 64 * 1024
        /// White space behind a delimiter.
        package var paddingByteCount = 64

        package init() {}
    }

    private enum State {
        case preamble, body
        case behindDelimiter, behindDash, padding, paddingEnd
        case header
        case epilogue
    }

    private let delimiter: [UInt8]  // With the line end before it, which belongs to it.
    private let limits: Limits
    private var state = State.preamble
    private var matched: Int
    private var header: [UInt8] = []
    private var lineStart = 0
    private var partCount = 0
    private var count = 0  // Of bytes in the state, for those that have a limit.
    private var byteOffset: Int64 = 0

    /// - Parameter boundary: 1 to 70 of the characters of RFC 2046, section 5.1.1, and no space at the end.
    /// - Throws: ``BlobError/Code/invalidArgument``.
    package init(boundary: String, limits: Limits = Limits()) throws(BlobError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(Self.boundaryCharacters.contains),
            boundary.last != " "
        else { throw BlobError(.invalidArgument, "The multipart body has no proper boundary.") }
        self.delimiter = Array("\r\n--\(boundary)".utf8)
        self.limits = limits
        // The first delimiter may stand at the very beginning, without a line end.
        self.matched = 2
    }

    private static let boundaryCharacters = Set(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? ".utf8)

    /// Takes the next bytes of the body and tells of what they hold.
    ///
    /// - Throws: ``BlobError/Code/corrupted``, ``BlobError/Code/limitExceeded``, and what `handle` throws; after that
    ///   the parser is of no more use.
    package mutating func take(_ bytes: UnsafeRawBufferPointer, _ handle: (Event) throws -> Void) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let before = rest.count
            switch self.state {
            case .preamble, .body: try self.search(&rest, handle)
            case .behindDelimiter, .behindDash, .padding, .paddingEnd: try self.takeBehindDelimiter(&rest)
            case .header: try self.takeHeader(&rest, handle)
            case .epilogue: rest = rest[rest.endIndex...]
            }
            self.byteOffset += Int64(before - rest.count)
        }
    }

    /// To be called where the body ends.
    ///
    /// - Throws: ``BlobError/Code/truncated`` unless the last delimiter came.
    package func finish() throws(BlobError) {
        guard case .epilogue = self.state else {
            throw BlobError(
                .truncated, "The multipart body ended before its last delimiter.", byteOffset: self.byteOffset)
        }
    }

    // MARK: Data

    /// Passes on everything up to a delimiter.
    private mutating func search(_ rest: inout Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void) throws {
        if self.matched > 0 {
            let index = self.match(rest, from: rest.startIndex)
            if self.matched == self.delimiter.count { return try self.reachDelimiter(&rest, index, nil, handle) }
            guard index < rest.endIndex else { return rest = rest[rest.endIndex...] }
            // It was none: what looked like the beginning of one is data. A CR is at its front only, so nothing of it
            // can be the beginning of another.
            let isLineEndOfStart = self.state == .preamble && self.byteOffset == 0
            if self.state == .body {
                let looked = self.matched
                try self.delimiter.withUnsafeBytes {
                    try handle(.bytes(UnsafeRawBufferPointer(rebasing: $0[..<looked])))
                }
            } else {
                try self.countPreamble(isLineEndOfStart ? 0 : self.matched)
            }
            self.matched = 0
            rest = rest[index...]
        }
        let start = rest.startIndex
        var index = start
        while let found = rest[index...].firstIndex(of: UInt8(ascii: "\r")) {
            self.matched = 0
            index = self.match(rest, from: found)
            if self.matched == self.delimiter.count {
                return try self.reachDelimiter(&rest, index, rest[start..<found], handle)
            }
            if index == rest.endIndex {
                try self.pass(rest[start..<found], handle)
                return rest = rest[rest.endIndex...]
            }
        }
        self.matched = 0
        try self.pass(rest[start...], handle)
        rest = rest[rest.endIndex...]
    }

    /// Compares with the delimiter, from where the last comparison stopped.
    private mutating func match(_ bytes: Slice<UnsafeRawBufferPointer>, from start: Int) -> Int {
        var index = start
        while index < bytes.endIndex, self.matched < self.delimiter.count, bytes[index] == self.delimiter[self.matched]
        {
            index += 1
            self.matched += 1
        }
        return index
    }

    private mutating func pass(_ bytes: Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void) throws {
        guard self.state == .body else { return try self.countPreamble(bytes.count) }
        if !bytes.isEmpty { try handle(.bytes(UnsafeRawBufferPointer(rebasing: bytes))) }
    }

    private mutating func countPreamble(_ count: Int) throws(BlobError) {
        self.count += count
        guard self.count <= self.limits.preambleByteCount else {
            throw self.limit("more than \(self.limits.preambleByteCount) bytes before the first part")
        }
    }

    private mutating func reachDelimiter(
        _ rest: inout Slice<UnsafeRawBufferPointer>, _ end: Int, _ before: Slice<UnsafeRawBufferPointer>?,
        _ handle: (Event) throws -> Void
    ) throws {
        if let before { try self.pass(before, handle) }
        if self.state == .body { try handle(.end) }
        (self.state, self.matched, self.count) = (.behindDelimiter, 0, 0)
        rest = rest[end...]
    }

    // MARK: Between the parts

    private mutating func takeBehindDelimiter(_ rest: inout Slice<UnsafeRawBufferPointer>) throws(BlobError) {
        let byte = rest[rest.startIndex]
        rest = rest.dropFirst()
        switch (self.state, byte) {
        case (.behindDelimiter, UInt8(ascii: "-")): self.state = .behindDash
        case (.behindDash, UInt8(ascii: "-")): self.state = .epilogue
        case (.behindDelimiter, UInt8(ascii: "\r")), (.padding, UInt8(ascii: "\r")): self.state = .paddingEnd
        case (.behindDelimiter, UInt8(ascii: " ")), (.behindDelimiter, UInt8(ascii: "\t")),
            (.padding, UInt8(ascii: " ")), (.padding, UInt8(ascii: "\t")):
            self.state = .padding
            self.count += 1
            guard self.count <= self.limits.paddingByteCount else {
                throw self.limit("more than \(self.limits.paddingByteCount) spaces behind a delimiter")
            }
        case (.paddingEnd, UInt8(ascii: "\n")):
            self.partCount += 1
            guard self.partCount <= self.limits.partCount else {
                throw self.limit("more than \(self.limits.partCount) parts")
            }
            (self.state, self.header, self.lineStart) = (.header, [], 0)
        default: throw self.broken("A line begins with the delimiter and goes on.")
        }
    }

    // MARK: Headers

    private mutating func takeHeader(
        _ rest: inout Slice<UnsafeRawBufferPointer>, _ handle: (Event) throws -> Void
    ) throws {
        while let byte = rest.first {
            rest = rest.dropFirst()
            self.header.append(byte)
            guard self.header.count <= self.limits.headerByteCount else {
                throw self.limit("a part with more than \(self.limits.headerByteCount) bytes of header")
            }
            guard byte == UInt8(ascii: "\n") else { continue }
            guard self.header.dropLast().last == UInt8(ascii: "\r") else {
                throw self.broken("A line of a header ends without a carriage return.")
            }
            let isBlank = self.header.count == self.lineStart + 2
            self.lineStart = self.header.count
            guard isBlank else { continue }
            let header: MultipartHeader
            do {
                header = try MultipartHeader(self.header.dropLast(2))
            } catch {
                throw self.broken(error.message)
            }
            (self.state, self.matched, self.header) = (.body, 0, [])
            return try handle(.begin(header))
        }
    }

    private func broken(_ message: String) -> BlobError {
        BlobError(.corrupted, "The multipart body is broken: \(message)", byteOffset: self.byteOffset)
    }

    private func limit(_ what: String) -> BlobError {
        BlobError(.limitExceeded, "The multipart body has \(what), which is the limit.", byteOffset: self.byteOffset)
    }
}
