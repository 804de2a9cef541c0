import BlobStreamsStandard
import Foundation

/// The arguments of the process, of which those that are not UTF-8 are converted to locators.
enum RawArguments {
    /// Separates the parts of a form within one argument; no argument of a process contains it.
    static let partSeparator: Character = "\0"

    private static let partOptions = ["-F", "--form"]

    /// - Throws: ``BlobError/Code/invalidArgument`` for an option with such bytes in its value; ``BlobError/Code/io``
    ///   when the system does not tell the arguments.
    static func decoded() throws(BlobError) -> [String] {
        // Swift reads them from a file. Without any, not even a name, help would be printed, which is a success.
        guard CommandLine.argc > 0 else { throw BlobError(.io, "Could not read the arguments of the command.") }
        var arguments: [String] = []
        var isBehindTerminator = false
        for index in 1..<Int(CommandLine.argc) {
            guard let pointer = CommandLine.unsafeArgv[index] else { break }
            let argument = UnsafeBufferPointer(start: pointer, count: strlen(pointer)).map(UInt8.init(bitPattern:))
            let text = self.decoded(argument)
            // A part of a form contains a locator, but cannot be converted to one.
            let isPart = arguments.last.map(self.partOptions.contains) == true
            let isOption = argument.first == UInt8(ascii: "-") && !isBehindTerminator
            guard !isOption && !isPart || Array(text.utf8) == argument else {
                throw BlobError(
                    .invalidArgument,
                    "The option '\(PercentEncoding.encode(argument, leaving: Set(0x20...0x7E)))' "
                        + "is no UTF-8: give its value as an argument of its own.")
            }
            if isOption, !isPart, text.hasPrefix("-F"), text.utf8.count > 2 {
                // The argument parser would split `-Fname=value` at its '='.
                arguments += ["-F", String(text.dropFirst(2))]
            } else {
                arguments.append(isOption && text == "--skip-existing" ? "--skip-existing=digest" : text)
                if text == "--" { isBehindTerminator = true }
            }
        }
        return self.joiningParts(arguments)
    }

    /// Joins options for parts of a form that follow each other: the time that the argument parser takes grows with the
    /// square of the number of options.
    private static func joiningParts(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        var index = 0
        while index < arguments.count {
            joined.append(arguments[index])
            guard self.partOptions.contains(arguments[index]), index + 1 < arguments.count else {
                index += 1
                continue
            }
            var parts = [arguments[index + 1]]
            index += 2
            while index + 1 < arguments.count, self.partOptions.contains(arguments[index]) {
                parts.append(arguments[index + 1])
                index += 2
            }
            joined.append(parts.joined(separator: String(self.partSeparator)))
        }
        return joined
    }

    /// Returns an argument as text; bytes that are not UTF-8, which a `String` would damage, as the locator of a file.
    static func decoded(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return BlobLocator(filePath: bytes).text
    }
}
