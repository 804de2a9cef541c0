import BlobCore
package import Foundation

/// A folder that is removed, with all that is in it, when it is released.
///
/// Threads that wait for the other end of one of its FIFOs then wait no longer.
package final class TemporaryFolder: Sendable {
    /// The path as the system names it, so that open descriptors are found by it.
    package let path: String
    private let fifos = Locked<[String]>([])

    /// Makes a folder in the one for temporary files.
    package init() throws {
        var template = Array("\(NSTemporaryDirectory())/BlobStreams-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil, let resolved = realpath(template, nil) else {
            throw BlobError(systemError: errno, doing: "Could not make a folder")
        }
        defer { free(resolved) }
        self.path = String(cString: resolved)
    }

    deinit {
        // Opens both ends at once. Held until the names are gone: whoever comes later finds none.
        let ends = self.fifos.withLock { $0 }.map { open($0, O_RDWR | O_NONBLOCK | O_CLOEXEC) }
        Self.remove(Array(self.path.utf8))
        for end in ends where end >= 0 { close(end) }
    }

    /// Removes a file, or a folder with what is in it.
    private static func remove(_ path: [UInt8]) {
        // Symbolic links are not followed, as they are removed at once.
        guard path.withPath({ Foundation.remove($0) }) != 0, errno == ENOTEMPTY || errno == EEXIST else { return }
        for name in self.names(in: path) { self.remove(path + [UInt8(ascii: "/")] + name) }
        path.withPath { _ = rmdir($0) }
    }

    /// The names in a folder; bytes, because they need not be UTF-8.
    private static func names(in path: [UInt8]) -> [[UInt8]] {
        guard let folder = path.withPath({ opendir($0) }) else { return [] }
        defer { closedir(folder) }
        var names: [[UInt8]] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
        return names
    }

    /// The folder as a URL.
    package var url: URL { URL(fileURLWithPath: self.path, isDirectory: true) }

    /// The path of a file in the folder.
    package func path(_ name: String) -> String { "\(self.path)/\(name)" }

    /// The path of a file whose name need not be UTF-8.
    package func pathBytes(_ name: some Sequence<UInt8>) -> [UInt8] { Array("\(self.path)/".utf8) + name }

    /// The URL of a file in the folder.
    package func url(_ name: String) -> URL { URL(fileURLWithPath: self.path(name)) }

    /// The names in the folder, sorted.
    package var names: [String] {
        Self.names(in: Array(self.path.utf8)).map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    /// Creates or replaces the content of a file.
    ///
    /// - Returns: The path of the file.
    @discardableResult package func write(_ bytes: [UInt8], to name: String) throws -> String {
        try self.write(bytes, to: Array(name.utf8))
        return self.path(name)
    }

    /// Creates or replaces the content of a file with the UTF-8 of a text.
    ///
    /// - Returns: The path of the file.
    @discardableResult package func write(_ text: String, to name: String) throws -> String {
        try self.write(Array(text.utf8), to: name)
    }

    /// Creates or replaces the content of a file whose name need not be UTF-8.
    package func write(_ bytes: [UInt8], to name: [UInt8]) throws {
        let file = self.pathBytes(name).withPath { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644) }
        guard file >= 0 else { throw BlobError(systemError: errno, doing: "Could not make a file") }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not write a file") }
            rest = rest.dropFirst(count)
        }
    }

    /// Makes a FIFO.
    ///
    /// - Returns: Its path.
    @discardableResult package func makeFIFO(_ name: String) throws -> String {
        guard mkfifo(self.path(name), 0o644) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not make a FIFO")
        }
        self.fifos.withLock { $0.append(self.path(name)) }
        return self.path(name)
    }

    /// Makes a folder, and those that it is in.
    package func makeFolder(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self.path(name), withIntermediateDirectories: true)
    }

    /// Runs a program in the folder to its end; blocks.
    ///
    /// - Throws: ``BlobError``, when its exit status is not 0.
    @discardableResult package func run(_ program: String, _ arguments: [String]) throws -> FinishedProcess {
        let process = try FinishedProcess(program, arguments, in: self.url)
        guard process.status == 0 else { throw BlobError(.internalError, "\(program) failed: \(process.errors)") }
        return process
    }

    @discardableResult package func run(_ program: String, _ arguments: String...) throws -> FinishedProcess {
        try self.run(program, arguments)
    }

    /// The content of a file.
    package func bytes(_ name: String) throws -> [UInt8] { try readFile(self.path(name)) }

    /// The content of a file as text; nil when there is none.
    package func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: self.path(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The permissions of a file.
    package func mode(_ name: String) throws -> mode_t {
        var status = stat()
        guard stat(self.path(name), &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not look at a file")
        }
        return status.st_mode & 0o7777
    }
}
