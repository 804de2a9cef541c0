import Foundation
import Testing

/// A folder that is removed, with the files in it, by its owner.
struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/BlobStreams-XXXXXX".utf8CString)
        let made = mkdtemp(&template)
        // As the system names it, to find its descriptors again.
        let resolved = try realpath(#require(made), nil)
        defer { free(resolved) }
        self.path = try String(cString: #require(resolved))
    }

    func path(_ name: String) -> String { "\(self.path)/\(name)" }

    func pathBytes(_ name: some Sequence<UInt8>) -> [UInt8] { Array("\(self.path)/".utf8) + name }

    /// Removes the folder; by bytes, because its names need not be UTF-8.
    func remove() {
        guard let folder = opendir(self.path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
            _ = self.pathBytes(name).withPath { unlink($0) }
        }
        closedir(folder)
        rmdir(self.path)
    }

    /// Creates or replaces the content of a file.
    func write(_ bytes: [UInt8], to name: String) throws {
        try self.write(bytes, to: Array(name.utf8))
    }

    func write(_ bytes: [UInt8], to name: [UInt8]) throws {
        let file = try File(self.pathBytes(name), O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(bytes)
        file.close()
    }
}

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

extension [UInt8] {
    func withPath<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
        try (self.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { characters in
            guard let path = characters.baseAddress else { preconditionFailure("A path has its zero byte.") }
            return try body(path)
        }
    }
}
