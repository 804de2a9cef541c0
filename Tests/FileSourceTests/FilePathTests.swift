import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@Suite struct FilePathTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func registry() throws -> BlobRegistry {
        var registry = BlobRegistry()
        try registry.register(FileSource.provider)
        return registry
    }

    // MARK: Names

    @Test func aNameIsAnyBytesButZeroAndSlash() throws {
        let names: [[UInt8]] = [
            Array("with space".utf8), Array("100%".utf8), Array("%41".utf8), Array("a#b?c!d@e[f]".utf8),
            Array("new\nline".utf8), Array("tab\tand\u{1B}escape".utf8), Array("é漢🦊".utf8), [0xFF, 0xFE, 0x80],
            Array("+:&=;,'\"\\|<>*".utf8), Array("-n".utf8), Array("...".utf8),
            Array(repeating: UInt8(ascii: "n"), count: 255),
        ]
        let registry = try self.registry()
        for name in names {
            try self.folder.write(name, to: name)
            let source = FileSource(pathBytes: self.folder.pathBytes(name))
            #expect(try readAll(source.open()) == name)
            #expect(try source.info().name == String(decoding: name, as: UTF8.self))

            let locator = try #require(source.locator)
            #expect(locator.filePath == self.folder.pathBytes(name))
            #expect(try readAll(registry.source(for: locator.text).open()) == name)
            let url = try #require(URL(string: locator.text))
            #expect(try readAll(FileSource(url: url).open()) == name, "\(locator)")
        }
        #expect(try readAll(FileSource(path: self.folder.path("é漢🦊")).open()) == Array("é漢🦊".utf8))
    }

    @Test func severalSlashesAreOne() throws {
        try self.folder.write([7], to: "x")
        let source = FileSource(path: "/\(self.folder.path)//x")
        #expect(try readAll(source.open()) == [7])
        #expect(try readAll(self.registry().source(for: #require(source.locator)).open()) == [7])
    }

    @Test func aRelativePathIsOneBelowTheCurrentFolder() {
        let current = FileManager.default.currentDirectoryPath
        #expect(FileSource(path: "a/b").locator == FileSource(path: "\(current)/a/b").locator)
        #expect(FileSource(path: "a/b").locator?.text.hasPrefix("file:///") == true)
    }

    @Test func aNameThatIsTooLongIsAnInvalidArgument() throws {
        let source = FileSource(path: self.folder.path(String(repeating: "n", count: 256)))
        for error in try self.errors(of: source) {
            #expect(error.code == .invalidArgument)
            #expect(error.systemErrorNumber == ENAMETOOLONG)
        }
    }

    @Test func aZeroByteInAPathIsAnInvalidArgument() throws {
        try self.folder.write([1], to: "x")
        for path in ["x\0", "x\0y", "\0"] {
            let source = FileSource(path: self.folder.path(path))
            for error in try self.errors(of: source) { #expect(error.code == .invalidArgument) }
            #expect(!source.traits.isEmpty)
        }
        let located = try self.registry().source(for: "file://\(self.folder.path)/x%00")
        #expect(throws: BlobError.self) { try located.open() }
    }

    @Test func errorsAreOneLineAndTellTheLocator() throws {
        let source = FileSource(pathBytes: self.folder.pathBytes(Array("no\nsuch".utf8) + [0xFF]))
        for error in try self.errors(of: source) {
            #expect(error.code == .notFound)
            #expect(error.locator == "file://\(self.folder.path)/no%0Asuch%FF")
            #expect(!error.description.contains("\n"))
            #expect(error.layers == ["FileSource"])
            #expect(error.systemErrorNumber == ENOENT)
        }
    }

    // MARK: What cannot be read

    /// Of the opening and of the info, which have to agree.
    private func errors(of source: FileSource) throws -> [BlobError] {
        [
            try #require(throws: BlobError.self) { try source.open() },
            try #require(throws: BlobError.self) { try source.info() },
        ]
    }

    @Test func aMissingFileIsNotFound() throws {
        try self.folder.write([1], to: "file")
        symlink("nowhere", self.folder.path("dangling"))
        for name in ["missing", "missing/x", "file/x", "dangling"] {
            for error in try self.errors(of: FileSource(path: self.folder.path(name))) {
                #expect(error.code == .notFound, "\(name)")
                #expect(!error.isTransient)
            }
        }
    }

    @Test func aSymbolicLinkIsFollowed() throws {
        try self.folder.write([1, 2], to: "file")
        symlink("file", self.folder.path("link"))
        symlink("loop", self.folder.path("loop"))
        let source = FileSource(path: self.folder.path("link"))
        #expect(try readAll(source.open()) == [1, 2])
        #expect(try source.info().name == "link")
        for error in try self.errors(of: FileSource(path: self.folder.path("loop"))) {
            #expect(error.systemErrorNumber == ELOOP)
        }
    }

    @Test func foldersAndSocketsAreUnsupported() throws {
        let socket = try Socket(at: self.folder.path("socket"))
        defer { socket.close() }
        let table = [
            self.folder.path: "directory", "/": "directory", self.folder.path("socket"): "socket",
        ]
        for (path, kind) in table {
            let source = FileSource(path: path)
            for error in try self.errors(of: source) {
                #expect(error.code == .unsupported, "\(path)")
                #expect(error.message.contains(kind), "\(error)")
            }
            #expect(source.traits.isEmpty)
        }
    }

    @Test func aFileWithoutPermissionIsDenied() async {
        // In a process of its own, which gives up being root, who may read everything.
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let user = geteuid()
            try folder.write([1], to: "x")
            chmod(folder.path, 0o755)
            chmod(folder.path("x"), 0)
            if user == 0 { try #require(seteuid(65534) == 0) }
            let source = FileSource(path: folder.path("x"))
            let error = #expect(throws: BlobError.self) { try source.open() }
            #expect(error?.code == .permissionDenied)
            #expect(error?.systemErrorNumber == EACCES)
            #expect(try source.info().byteCount == 1)
            if user == 0 { try #require(seteuid(0) == 0) }
        }
    }

    // MARK: Files without a size

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/version")))
    func aFileThatTellsNoSizeIsReadToItsEnd() throws {
        let expected = try Array(Data(contentsOf: URL(fileURLWithPath: "/proc/version")))
        let source = FileSource(path: "/proc/version")
        #expect(try source.info() == BlobInfo(name: "version"))
        #expect(try readAll(source.open(), inPiecesOf: 7) == expected)
        #expect(try readAll(source.open(at: 10)) == Array(expected.dropFirst(10)))
        #expect(try readAll(source.open(at: Int64(expected.count))) == [])
        let past = try source.open(at: Int64(expected.count) + 1)
        let error = try #require(throws: BlobError.self) { try read(past) }
        #expect(error.code == .invalidArgument)
        #expect(throws: BlobError.self) { try source.open(matching: .strong("x")) }
        #expect(openDescriptorCount(below: "/proc/version") <= 1)
        past.close()
        #expect(openDescriptorCount(below: "/proc/version") == 0)
    }

    // MARK: The provider

    @Test func theProviderAnswersToFileLocators() throws {
        try self.folder.write([1, 2, 3], to: "a b")
        let registry = try self.registry()
        for prefix in ["file://", "file://localhost", "file:", "FILE://"] {
            let source = try registry.source(for: "\(prefix)\(self.folder.path)/a%20b")
            #expect(try readAll(source.open()) == [1, 2, 3])
            #expect(source.locator?.text == "file://\(self.folder.path)/a%20b")
        }
        for locator in ["file:x", "file:", "file://host/x", "file:///x?q", "stdin:x", "stdin://"] {
            let error = try #require(throws: BlobError.self) { try registry.source(for: locator) }
            #expect(error.code == .invalidLocator, "\(locator)")
            #expect(error.locator == locator)
        }
        let missing = try registry.source(for: "file://\(self.folder.path)/missing")
        #expect(throws: BlobError.self) { try missing.open() }
        #expect(FileSource.provider.schemes == ["file", "stdin"])
    }

    @Test func standardInputIsReadOnceThroughItsLocator() async {
        await #expect(processExitsWith: .success) {
            var ends: [CInt] = [-1, -1]
            try #require(pipe(&ends) == 0)
            try #require(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
            var bytes = Array("hello".utf8)
            try #require(write(ends[1], &bytes, bytes.count) == bytes.count)
            close(ends[1])
            var registry = BlobRegistry()
            try registry.register(FileSource.provider)
            let source = try registry.source(for: "stdin:")
            #expect(source.locator?.text == "stdin:")
            #expect(source.traits.isEmpty)
            #expect(try source.info() == BlobInfo(name: "stdin"))
            // What is wrong with the asking does not take it.
            #expect(throws: BlobError.self) { try source.open(matching: .strong("x")) }
            let reader = try source.open(at: 1)
            #expect(try readAll(reader) == Array("ello".utf8))
            reader.close()
            #expect(fcntl(STDIN_FILENO, F_GETFD) >= 0)
            let again = #expect(throws: BlobError.self) { try registry.source(for: "stdin:").open() }
            #expect(again?.code == .unsupported)
        }
    }
}

/// A socket with a name in the file system.
private struct Socket {
    private let descriptor: CInt

    init(at path: String) throws {
        #if canImport(Darwin)
        let type = SOCK_STREAM
        #else
        let type = CInt(SOCK_STREAM.rawValue)
        #endif
        self.descriptor = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try withUnsafeMutableBytes(of: &address.sun_path) { room in
            try #require(path.utf8.count < room.count)
            room.copyBytes(from: path.utf8)
        }
        let descriptor = self.descriptor
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    func close() { _ = Foundation.close(self.descriptor) }
}
