#if Command
import BlobStreamsStandard

/// The arguments of a command, some of which may be lines of a list.
struct ArgumentList {
    private(set) var texts: [String]
    /// The line number of each argument, starting at 1; nil for an argument of the command line.
    private var lines: [Int?]
    private var list = ""

    init(_ arguments: [String]) {
        self.texts = arguments
        self.lines = arguments.map { _ in nil }
    }

    /// Adds the nonempty lines of a list; '-' means standard input.
    ///
    /// - Parameters:
    ///   - isZero: True if a zero byte ends each line.
    ///   - listed: The option for the locators that a list may contain.
    /// - Throws: The errors of reading the list; ``BlobError/Code/invalidArgument`` for a disallowed locator.
    mutating func add(
        _ list: String, isZero: Bool = false, _ listed: ListedLocatorOptions, _ registry: BlobRegistry,
        _ context: BlobContext
    ) throws {
        self.list = list
        let lines = try LineReader(list, isZero: isZero, registry, context)
        while let line = try lines.next() {
            guard !line.isEmpty else { continue }
            let text = RawArguments.decoded(line)
            try listed.check(text, registry, line: lines.number, of: list)
            self.texts.append(text)
            self.lines.append(lines.number)
        }
    }

    /// Replaces each argument with a pattern by the matching members; see ``BlobRegistry/expanding(_:_:)``.
    mutating func expand(_ registry: BlobRegistry, _ context: BlobContext) throws(BlobError) {
        var (texts, lines): ([String], [Int?]) = ([], [])
        for (text, line) in zip(self.texts, self.lines) {
            let expanded = try registry.expanding([text], context)
            texts += expanded
            lines += expanded.map { _ in line }
        }
        (self.texts, self.lines) = (texts, lines)
    }

    /// Returns the error of an argument with its line number in the list.
    func naming(_ error: any Error, _ position: Int) -> BlobError {
        let error = BlobError(wrapping: error)
        return self.lines[position].map { error.inLine($0, of: self.list) } ?? error
    }
}

extension BlobError {
    /// Returns this error with the number of the line that caused it.
    func inLine(_ number: Int, of list: String) -> BlobError {
        self.replacingMessage(
            "Line \(number) of \(list == "-" ? "the list" : printableArgument(list)): \(self.message)")
    }
}

/// Reads the lines of a file named by an option, each as it arrives.
final class LineReader {
    /// The maximum length of a line in bytes, the same as for `lines(ofAtMost:)`.
    private static let maximumLineByteCount = 1 << 20
    private static let bufferByteCount = 256 * 1024

    /// The number of the last line read, starting at 1; 0 before the first line.
    private(set) var number = 0
    private let reader: BlobReader
    private let lineEnding: UInt8
    private let buffer: UnsafeMutableRawBufferPointer
    private var rest: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - argument: The file, which is not decoded; '-' means standard input.
    ///   - isZero: True if a zero byte ends each line.
    init(
        _ argument: String, isZero: Bool = false, _ registry: BlobRegistry, _ context: BlobContext
    ) throws(BlobError) {
        self.reader = try registry.source(for: argument, context: context).open(context: context)
        self.lineEnding = isZero ? 0 : UInt8(ascii: "\n")
        // Last, because an initializer that throws does not run `deinit`.
        self.buffer = .allocate(byteCount: Self.bufferByteCount, alignment: 16)
    }

    deinit {
        self.reader.close()
        self.buffer.deallocate()
    }

    /// Returns the next line, without its end; nil after the last one.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for a line longer than 1 MiB; the errors of reading.
    func next() throws(BlobError) -> [UInt8]? {
        var searched = self.rest.startIndex
        while true {
            if let end = self.rest[searched...].firstIndex(of: self.lineEnding) {
                defer { self.rest = self.rest[(end + 1)...] }
                self.number += 1
                return Array(self.rest[..<end])
            }
            guard self.rest.count <= Self.maximumLineByteCount else {
                throw BlobError(
                    .limitExceeded, "A line is longer than \(Self.maximumLineByteCount) bytes.", operation: "read",
                    byteOffset: self.reader.byteOffset - Int64(self.rest.count))
            }
            if self.rest.startIndex > 0 { self.rest = Array(self.rest)[...] }
            searched = self.rest.endIndex
            let count = try BlobError.wrapping { try self.reader.readBlocking(into: self.buffer) }
            guard count > 0 else { break }
            self.rest += self.buffer[..<count]
        }
        guard !self.rest.isEmpty else { return nil }
        defer { self.rest = [] }
        self.number += 1
        return Array(self.rest)
    }
}
#endif
