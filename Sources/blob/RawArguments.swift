import BlobStreamsStandard
import Foundation

/// The arguments of the process, of which those that are no text are made locators.
enum RawArguments {
    static func decoded() -> [String] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            CommandLine.unsafeArgv[index].map { argument in
                let bytes = UnsafeBufferPointer(start: argument, count: strlen(argument)).map(UInt8.init(bitPattern:))
                return decoded(bytes)
            }
        }
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
