import Foundation
import Testing

/// A folder that is removed, with the files in it, by its owner.
struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/blob-XXXXXX".utf8CString)
        let made = mkdtemp(&template)
        let resolved = try realpath(#require(made), nil)
        defer { free(resolved) }
        self.path = try String(cString: #require(resolved))
    }

    func path(_ name: String) -> String { "\(self.path)/\(name)" }

    /// The names in the folder, sorted; by bytes, because they need not be UTF-8.
    func names() -> [[UInt8]] {
        guard let folder = opendir(self.path) else { return [] }
        defer { closedir(folder) }
        var names: [[UInt8]] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX)) { name in
                    UnsafeBufferPointer(start: name, count: strlen(name)).map(UInt8.init(bitPattern:))
                }
            }
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The names, for a folder in which all are text.
    var texts: [String] { self.names().map { String(decoding: $0, as: UTF8.self) } }

    func remove() {
        for name in self.names() { _ = withPath(Array("\(self.path)/".utf8) + name) { Foundation.remove($0) } }
        rmdir(self.path)
    }

    /// Creates or replaces the content of a file; returns its path.
    @discardableResult func write(_ bytes: [UInt8], to name: String) throws -> String {
        try self.write(bytes, to: Array(name.utf8))
        return self.path(name)
    }

    @discardableResult func write(_ text: String, to name: String) throws -> String {
        try self.write(Array(text.utf8), to: name)
    }

    func write(_ bytes: [UInt8], to name: [UInt8]) throws {
        let file = withPath(Array("\(self.path)/".utf8) + name) {
            open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        }
        try #require(file >= 0, "\(String(cString: strerror(errno)))")
        defer { close(file) }
        try #require(bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) } == bytes.count)
    }

    func makeFIFO(_ name: String) throws -> String {
        try #require(mkfifo(self.path(name), 0o644) == 0)
        return self.path(name)
    }

    func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: self.path(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The permissions of a file.
    func mode(_ name: String) throws -> mode_t {
        var status = stat()
        try #require(stat(self.path(name), &status) == 0)
        return status.st_mode & 0o7777
    }
}

private func withPath<Value>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Value) -> Value {
    let characters = path.map { CChar(bitPattern: $0) } + [0]
    return characters.withUnsafeBufferPointer { $0.baseAddress.map(body) } ?? body("")
}

/// Opens a file that must be there; a FIFO only once its other end is open too.
func opened(_ path: String, _ flags: CInt) throws -> CInt {
    let descriptor = open(path, flags | O_CLOEXEC)
    try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    return descriptor
}

/// Bytes that do not repeat, so that none can be taken for another.
func makeContent(_ byteCount: Int) -> [UInt8] {
    let words = (0..<UInt32((byteCount + 3) / 4)).map { $0 &* 2_654_435_761 }
    return words.withUnsafeBytes { Array($0.prefix(byteCount)) }
}
