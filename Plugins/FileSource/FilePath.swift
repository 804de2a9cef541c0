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
        let slash = UInt8(ascii: "/")
        let end = self.bytes.lastIndex { $0 != slash }.map { $0 + 1 } ?? 0
        let start = self.bytes[..<end].lastIndex(of: slash).map { $0 + 1 } ?? 0
        return String(decoding: self.bytes[start..<end], as: UTF8.self)
    }

    /// The path as text for messages, with U+FFFD for bytes that are not UTF-8.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Calls `body` with the path as a C string; throws when the path holds a zero byte.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) throws(BlobError) -> Result {
        guard !self.bytes.contains(0) else {
            throw BlobError(.invalidArgument, "A path cannot hold a zero byte.")
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: self.bytes.count + 1) { text in
            for (index, byte) in self.bytes.enumerated() {
                text.initializeElement(at: index, to: CChar(bitPattern: byte))
            }
            text.initializeElement(at: self.bytes.count, to: 0)
            return text.baseAddress.map { body($0) } ?? body("")
        }
    }

    func status() throws(BlobError) -> FileStatus {
        var status = stat()
        let result = try self.withCString { stat($0, &status) }
        guard result == 0 else { throw BlobError(systemError: errno, doing: "Could not look at \(self.text)") }
        return FileStatus(status)
    }
}
