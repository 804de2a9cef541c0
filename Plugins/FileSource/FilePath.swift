import BlobCore
import BlobPlatform

/// An absolute path in the bytes that the system uses.
struct FilePath: Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        // A source must stay valid when the current folder changes.
        let isAbsolute = bytes.first == UInt8(ascii: "/")
        self.bytes = isAbsolute ? bytes : BlobLocator(filePath: bytes).filePath ?? bytes
    }

    /// The last component, for display.
    var name: String {
        String(decoding: self.bytes.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    /// The path as text for messages, with U+FFFD for bytes that are not UTF-8.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Calls `body` with the path as a C string; throws when the path holds a zero byte.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) throws(BlobError) -> Result {
        guard !self.bytes.contains(0) else {
            throw BlobError(.invalidArgument, "A path cannot hold a zero byte.")
        }
        return (self.bytes + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                characters.baseAddress.map(body)
            }
        } ?? body("")
    }

    func status() throws(BlobError) -> FileStatus {
        var status = stat()
        let result = try self.withCString { stat($0, &status) }
        guard result == 0 else { throw BlobError(systemError: errno, doing: "Could not look at \(self.text)") }
        return FileStatus(status)
    }
}
