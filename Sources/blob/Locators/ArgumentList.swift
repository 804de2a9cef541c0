import BlobStreamsStandard

/// The arguments of a command, of which some may be lines of a list.
struct ArgumentList {
    private(set) var texts: [String]
    /// The numbers of lines from 1, by position; nil for an argument.
    private var lines: [Int?]
    private var list = ""

    init(_ arguments: [String]) {
        self.texts = arguments
        self.lines = arguments.map { _ in nil }
    }

    /// Adds the lines of a list that are not empty; '-' is standard input.
    ///
    /// - Parameters:
    ///   - isZero: True when a zero byte ends each line.
    ///   - listed: The option about what a list may name.
    /// - Throws: The errors of reading the list, and ``BlobError/Code/invalidArgument`` for a line that may not be.
    mutating func add(
        _ list: String, isZero: Bool = false, _ source: SourceOptions, _ listed: ListedLocatorOptions,
        _ registry: BlobRegistry, _ context: BlobContext
    ) throws {
        self.list = list
        try source.forEachLine(of: list, isZero: isZero, context) { line, number in
            guard !line.isEmpty else { return }
            let text = RawArguments.decoded(line)
            try listed.check(text, registry, line: number, of: list)
            self.texts.append(text)
            self.lines.append(number)
        }
    }

    /// Replaces arguments with patterns for members by the members; see ``BlobRegistry/expanding(_:_:)``.
    mutating func expand(_ registry: BlobRegistry, _ context: BlobContext) throws(BlobError) {
        var (texts, lines): ([String], [Int?]) = ([], [])
        for (text, line) in zip(self.texts, self.lines) {
            let expanded = try registry.expanding([text], context)
            texts += expanded
            lines += expanded.map { _ in line }
        }
        (self.texts, self.lines) = (texts, lines)
    }

    /// Returns an error of an argument, with its line in the list.
    func naming(_ error: BlobError, _ position: Int) -> BlobError {
        self.lines[position].map { error.inLine($0, of: self.list) } ?? error
    }
}

extension BlobError {
    /// Returns this error with the line of a list that it is about.
    func inLine(_ number: Int, of list: String) -> BlobError {
        self.replacingMessage(
            "Line \(number) of \(list == "-" ? "the list" : printableArgument(list)): \(self.message)")
    }
}
