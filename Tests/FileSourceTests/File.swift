import BlobTestSupport
import Foundation
import Testing

/// A descriptor of the test's own.
final class File: Sendable {
    let descriptor: CInt

    init(_ path: [UInt8], _ flags: CInt) throws {
        self.descriptor = path.withPath { open($0, flags | O_CLOEXEC, 0o644) }
        try #require(self.descriptor >= 0, "\(String(cString: strerror(errno)))")
    }

    convenience init(_ path: String, _ flags: CInt) throws { try self.init(Array(path.utf8), flags) }

    func write(_ bytes: [UInt8], at byteOffset: Int64? = nil) throws {
        var rest = bytes[...]
        var byteOffset = byteOffset
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { rest in
                byteOffset.map { pwrite(self.descriptor, rest.baseAddress, rest.count, off_t($0)) }
                    ?? Foundation.write(self.descriptor, rest.baseAddress, rest.count)
            }
            try #require(count > 0, "\(String(cString: strerror(errno)))")
            rest = rest.dropFirst(count)
            byteOffset = byteOffset.map { $0 + Int64(count) }
        }
    }

    func truncate(to byteCount: Int64) throws { try #require(ftruncate(self.descriptor, off_t(byteCount)) == 0) }

    func close() { _ = Foundation.close(self.descriptor) }
}
