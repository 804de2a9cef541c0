import BlobStreamsStandard
import Foundation

/// The arguments of the process, of which those that are no text are made locators.
enum RawArguments {
    /// - Throws: ``BlobError/Code/invalidArgument`` for an option with a value of such bytes behind its `=`.
    static func decoded() throws(BlobError) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let pointer = CommandLine.unsafeArgv[index] else { break }
            let argument = UnsafeBufferPointer(start: pointer, count: strlen(pointer)).map(UInt8.init(bitPattern:))
            let text = self.decoded(argument)
            // Of a part of a form, the locator is only what stands in it.
            let isPart = ["-F", "--form"].contains(arguments.last)
            let isOption = argument.first == UInt8(ascii: "-") && !arguments.contains("--")
            guard !isOption && !isPart || Array(text.utf8) == argument else {
                throw BlobError(
                    .invalidArgument,
                    "The option '\(PercentEncoding.encode(argument, leaving: Set(0x20...0x7E)))' "
                        + "is no UTF-8: give its value as an argument of its own.")
            }
            if isOption, !isPart, text.hasPrefix("-F"), text.utf8.count > 2 {
                // `-Fname=value`, which the parser of arguments would cut at its '='.
                arguments += ["-F", String(text.dropFirst(2))]
            } else {
                arguments.append(text)
            }
        }
        return arguments
    }

    /// A path of bytes that are no UTF-8 would be damaged by becoming a `String`: as a locator it keeps them.
    static func decoded(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return BlobLocator(filePath: absolutePath(bytes)).text
    }

    static func absolutePath(_ path: [UInt8]) -> [UInt8] {
        guard path.first != UInt8(ascii: "/") else { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        let bytes = UnsafeBufferPointer(start: folder, count: strlen(folder)).map(UInt8.init(bitPattern:))
        return (bytes.last == UInt8(ascii: "/") ? bytes : bytes + [UInt8(ascii: "/")]) + path
    }
}
