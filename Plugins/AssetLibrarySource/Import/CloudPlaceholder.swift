import BlobCore
import Foundation

/// Files that stand for others, which a cloud keeps.
enum CloudPlaceholder {
    /// A placeholder of iCloud Drive is a property list of some hundred bytes.
    private static let byteLimit: Int64 = 64 * 1024
    /// File systems store files of fewer bytes without blocks of their own.
    private static let blockByteCount: Int64 = 4096

    /// Throws ``BlobError/Code/unavailable`` for `.NAME.icloud` with a property list: iCloud Drive removed the content.
    static func check(name: String?, _ bytes: HeaderBytes) throws(BlobError) {
        guard let name, name.hasPrefix("."), name.hasSuffix(".icloud"), bytes.byteCount <= self.byteLimit else {
            return
        }
        let start = bytes.prefix(8)
        guard start.starts(with: "bplist".utf8) || start.starts(with: "<?xml".utf8) else { return }
        throw self.isInTheCloud(String(name.dropFirst().dropLast(".icloud".count)))
    }

    /// Throws ``BlobError/Code/unavailable`` for a picture or a film of a known length for which the file system has no
    /// bytes: those that it would return are zeros.
    static func check(file path: [UInt8]) throws(BlobError) {
        var status = stat()
        let name = String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        guard path.withPath({ stat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int64(status.st_size) >= self.blockByteCount, status.st_blocks == 0,
            let suffix = Asset.fileExtension(ofName: name)?.lowercased(), self.mediaExtensions.contains(suffix)
        else { return }
        throw self.isInTheCloud(name)
    }

    private static let mediaExtensions = Set(
        MediaFormat.allCases.map(\.fileExtension) + ["jpeg", "tiff", "heif", "m4v"])

    private static func isInTheCloud(_ name: String) -> BlobError {
        BlobError(.unavailable, "'\(name)' is in the cloud, and not on this disk: download it first.")
    }
}

extension [UInt8] {
    /// Calls `body` with the path as the system takes it.
    fileprivate func withPath<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        (self.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { characters in
            guard let start = characters.baseAddress else { preconditionFailure("There is one character at least.") }
            return body(start)
        }
    }
}
