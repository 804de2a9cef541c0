import BlobStreamsStandard
import Foundation

/// The arguments of the process, of which those that are not UTF-8 are converted to locators.
enum RawArguments {
    /// - Throws: ``BlobError/Code/invalidArgument`` for an option with such bytes in its value; ``BlobError/Code/io``
    ///   when the system does not tell the arguments.
    static func decoded() throws(BlobError) -> [String] {
        // Swift reads them from a file. Without any, not even a name, help would be printed, which is a success.
        guard CommandLine.argc > 0 else { throw BlobError(.io, "Could not read the arguments of the command.") }
        var arguments: [String] = []
        for index in 1..<Int(CommandLine.argc) {
            guard let pointer = CommandLine.unsafeArgv[index] else { break }
            let argument = UnsafeBufferPointer(start: pointer, count: strlen(pointer)).map(UInt8.init(bitPattern:))
            let text = self.decoded(argument)
            // A part of a form contains a locator, but cannot be converted to one.
            let isPart = ["-F", "--form"].contains(arguments.last)
            let isOption = argument.first == UInt8(ascii: "-") && !arguments.contains("--")
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
                arguments.append(text)
            }
        }
        return arguments
    }

    /// Returns an argument as text; bytes that are not UTF-8, which a `String` would damage, as the locator of a file.
    static func decoded(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return BlobLocator(filePath: bytes).text
    }
}
