import BlobStreams
import Foundation

/// An absolute path as the system has it.
struct FilePath: Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        guard bytes.first != UInt8(ascii: "/") else {
            self.bytes = bytes
            return
        }
        // A source is a description that must stay right when the current folder changes.
        let folder = FileManager.default.currentDirectoryPath
        self.bytes = Array((folder == "/" ? "" : folder).utf8) + [UInt8(ascii: "/")] + bytes
    }

    /// The last component, for people.
    var name: String {
        String(decoding: self.bytes.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    /// For messages; bytes that are no UTF-8 are shown as U+FFFD.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Runs `body` with the path as C has it.
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
