#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

/// A command that accepts any number of names.
protocol NameListCommand: ParsableCommand {
    var locators: [String] { get set }
}

extension NameListCommand {
    /// Returns the command after splitting its joined names.
    func separated() throws -> Self {
        var command = self
        command.locators = RawArguments.separated(self.locators)
        try command.validate()
        return command
    }
}

/// The arguments of the process; arguments that are not UTF-8 are converted to locators.
enum RawArguments {
    /// The character that separates joined names or form parts within one argument. A process argument cannot contain
    /// it.
    static let separator: Character = "\0"

    private static let partOptions = ["-F", "--form"]

    /// Returns the arguments as text, with consecutive names and form parts joined.
    ///
    /// - Parameter listCommands: The names of the commands whose arguments are joined. Each is a ``NameListCommand``.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an option whose value is not UTF-8; ``BlobError/Code/io`` if
    ///   the system does not provide the arguments.
    static func decoded(_ listCommands: [String] = []) throws(BlobError) -> [String] {
        // Swift reads the arguments from a file. Without any, the parser would print the help and report success.
        guard CommandLine.argc > 0 else { throw BlobError(.io, "Could not read the arguments of the command.") }
        var arguments: [String] = []
        var isBehindTerminator = false
        for index in 1..<Int(CommandLine.argc) {
            guard let pointer = CommandLine.unsafeArgv[index] else { break }
            let argument = UnsafeBufferPointer(start: pointer, count: strlen(pointer)).map(UInt8.init(bitPattern:))
            let text = self.decoded(argument)
            // A form part contains a locator, but cannot itself be converted to one.
            let isPart = arguments.last.map(self.partOptions.contains) == true
            if !isBehindTerminator, !isPart, text.hasPrefix("-#"), let locator = self.memberOfInput(text) {
                arguments.append(locator)
                continue
            }
            let isOption = argument.first == UInt8(ascii: "-") && !isBehindTerminator
            guard !isOption && !isPart || Array(text.utf8) == argument else {
                throw BlobError(
                    .invalidArgument,
                    "The option '\(PercentEncoding.encode(argument, leaving: ByteSet(0x20...0x7E)))' "
                        + "is not UTF-8: pass its value as a separate argument.")
            }
            if isOption, !isPart, text.hasPrefix("-F"), text.utf8.count > 2 {
                // The argument parser would split `-Fname=value` at its '='.
                arguments += ["-F", String(text.dropFirst(2))]
            } else {
                arguments.append(isOption ? self.withValue(text, before: index + 1) : text)
                if text == "--" { isBehindTerminator = true }
            }
        }
        // The words of an unfinished command line must stay separate.
        guard let command = arguments.first, command != CompleteCommand.configuration.commandName else {
            return arguments
        }
        return [command] + self.joined(arguments.dropFirst(), joinsNames: listCommands.contains(command))
    }

    /// Returns an option with its default value if its value is optional, and the argument at `index` is not one.
    private static func withValue(_ option: String, before index: Int) -> String {
        let argument = { (index: Int) in
            index < Int(CommandLine.argc) ? CommandLine.unsafeArgv[index].map { String(cString: $0) } ?? "" : ""
        }
        switch option {
        case "--skip-existing":
            return ExistingCheck(argument: argument(index)) == nil ? "\(option)=digest" : option
        case "--resumable" where Resumption(rawValue: argument(index)) == nil:
            // The URL of the upload is the last URL; the values of these options are other URLs.
            let words = (1..<Int(CommandLine.argc)).map(argument)
            let urls = zip(words, words.dropFirst())
                .filter { !["--endpoint-url", "--proxy", "-x"].contains($0) && $1.contains("://") }
            return "\(option)=\(urls.last?.1.hasPrefix("s3://") == true ? Resumption.s3 : .tus)"
        default: return option
        }
    }

    /// Joins consecutive names, and consecutive options for form parts.
    ///
    /// The argument parser takes time proportional to the square of the number of arguments.
    private static func joined(_ arguments: ArraySlice<String>, joinsNames: Bool) -> [String] {
        enum Kind { case name, part, other }
        var (joined, last, rest) = ([String](), Kind.other, arguments)
        var (isBehindTerminator, mayBeValue) = (false, false)
        func append(_ value: String, _ kind: Kind, after option: [String] = []) {
            if last == kind {
                joined[joined.count - 1] += "\(self.separator)\(value)"
            } else {
                joined += option + [value]
            }
            (last, mayBeValue) = (kind, false)
        }
        while let argument = rest.popFirst() {
            let isOption = argument.hasPrefix("-") && !isBehindTerminator
            // The argument after an option may be its value. The first joined name cannot begin with a hyphen.
            if isOption, self.partOptions.contains(argument), let part = rest.popFirst() {
                append(part, .part, after: [argument])
            } else if joinsNames, !mayBeValue, !isOption || argument == "-" && last == .name {
                append(argument, .name)
            } else {
                joined.append(argument)
                isBehindTerminator = isBehindTerminator || argument == "--"
                (last, mayBeValue) = (.other, isOption && argument != "-" && argument != "--")
            }
        }
        return joined
    }

    /// Splits arguments into the names that were joined.
    static func separated(_ arguments: [String]) -> [String] {
        arguments.flatMap { $0.split(separator: self.separator, omittingEmptySubsequences: false).map(String.init) }
    }

    /// Returns the locator of a member of standard input, whose text the argument parser would mistake for options.
    private static func memberOfInput(_ text: String) -> String? {
        try? BlobRegistry.standard.locator(for: text).text
    }

    /// The arguments that are not UTF-8, keyed by the locators that replace them.
    private static let undecodableArguments = Locked<[String: [UInt8]]>([:])

    /// Returns an argument as text; an argument that is not UTF-8, which a `String` would damage, becomes the locator
    /// of a file.
    static func decoded(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let text = BlobLocator(filePath: bytes).text
        self.undecodableArguments.withLock { $0[text] = bytes }
        return text
    }

    /// Returns the original bytes of an argument that ``decoded(_:)`` converted to text.
    static func bytes(of text: String) -> [UInt8] {
        self.undecodableArguments.withLock { $0[text] } ?? Array(text.utf8)
    }
}
#endif
