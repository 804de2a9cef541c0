import BlobTestSupport
import Foundation
import Testing

/// The examples run as processes, and the README as a script.
@Suite struct ExamplesTests {
    @Test func theChecksumExamplePrintsTheDigestOfAFile() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("a file")
        try Data("abc".utf8).write(to: file)
        // FIPS 180-4, example of SHA-256 for one block.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(try output(of: "Checksum", [file.absoluteString]) == "\(digest) \(file.absoluteString)\n")
    }

    @Test func theStreamsOfTheAncestorsTwoProgramsGiveTheDigestOfAFile() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("x")
        // FIPS 180-4, example of SHA-256 for a million times "a".
        try Data(repeating: 0x61, count: 1_000_000).write(to: file)
        let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(try output(of: "SynchronousChecksum", [file.absoluteString]) == "\(digest) \(file.absoluteString)\n")
        #expect(try output(of: "RunLoopChecksum", [file.absoluteString]) == "\(digest)\n")
    }

    @Test func theRunLoopChecksumBeginsAtAnOffset() throws {
        let folder = try TemporaryFolder()
        let content = makeContent(1_000_000)
        try folder.write(content, to: "whole")
        try folder.write(Array(content[700_001...]), to: "end")
        let digest = try output(of: "blob", ["sum", folder.path("end")]).prefix { $0 != " " }
        #expect(try output(of: "RunLoopChecksum", ["--offset", "700001", folder.path("whole")]) == "\(digest)\n")
        for offset in ["-1", "1000001", "x"] {
            let run = try finished("RunLoopChecksum", ["--offset", offset, folder.path("whole")])
            #expect(run.status == 64 && run.output.isEmpty, "\(offset): \(run.errors)")
        }
    }

    @Test func theStateOfADataSourceAndTheStreamOverItAreObserved() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("x")
        try Data(count: 3 * 64 * 1024).write(to: file)
        let lines = try output(of: "ObservedSource", [file.absoluteString]).split(separator: "\n")
        // Each observer sees its changes in order.
        let percents = lines.compactMap { $0.wholeMatch(of: /stream: (\d+) %/).flatMap { Int($0.output.1) } }
        #expect(percents.last == 100 && percents == percents.sorted(), "\(lines)")
        let phases = lines.filter { $0.hasPrefix("stream: ") && !$0.hasSuffix("%") }
        #expect(
            phases
                == ["notOpen -> opening", "opening -> open", "open -> atEnd", "atEnd -> closed"].map { "stream: \($0)" }
        )
        let opening = lines.filter { $0.hasPrefix("source: ") && !$0.contains("hasBytesAvailable") }
        #expect(opening == ["source: isOpenCompleted true", "source: isAtEnd true"])
        // Three pieces come and are taken.
        let pieces = lines.filter { $0.contains("hasBytesAvailable") }.map { $0.hasSuffix("true") }
        #expect(pieces == [true, false, true, false, true, false])
        let missing = try finished("ObservedSource", [folder.path("missing")])
        #expect(missing.outputText.contains("source: error notFound\n"))
        #expect(missing.outputText.contains("stream: opening -> failed\n"), "\(missing.outputText)")
    }

    @Test func streamsAndFilesAreJoinedAndTheirBytesCounted() throws {
        let folder = try TemporaryFolder()
        let (first, second) = (folder.url("first"), folder.url("second"))
        let long = String(repeating: "0123456789", count: 20_000)  // More than one window.
        try Data("one\n".utf8).write(to: first)
        try Data(long.utf8).write(to: second)
        let run = try finished("JoinedStreams", [first.path, second.path])
        #expect(run.outputText == "==> \(first.path) <==\none\n==> \(second.path) <==\n\(long)")
        #expect(run.errors.hasSuffix(" bytes, \(run.output.count) in total\n"), "\(run.errors)")
    }

    @Test func theCustomSourceKeepsTheContractsAndIsPosted() throws {
        let locator = "base64:SGVsbG8sIHdvcmxkIQ=="
        let lines = try output(of: "CustomSource", [locator]).split(separator: "\n")
        #expect(lines.prefix(2) == ["Hello, world!", "contract violations: []"])
        #expect(lines.last?.hasPrefix("contract violations of a faulty source: [C8: ") == true, "\(lines)")
        // printf 'Hello, world!' | sha256sum
        let digest = "315f5bdb76d078c43b8ac0064e4a0164612b1fce77c869345bfc94c75894edd3"
        try withReceiver { url in
            let printed = try output(of: "CustomSource", [locator, url])
            #expect(printed.hasPrefix("201 ") && printed.contains(digest), "\(printed)")
        }
        #expect(try finished("CustomSource", ["base64:?"]).status == 64)
    }

    @Test func theFormOfFiveKindsOfSourceIsTheBytesOfItsParts() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("a file.txt")
        try Data("some text".utf8).write(to: file)
        var wanted = Data()
        func part(_ headers: String, _ bytes: Data) {
            wanted += Data("--five-kinds\r\nContent-Disposition: form-data; \(headers)\r\n\r\n".utf8) + bytes
            wanted += Data("\r\n".utf8)
        }
        part("name=\"title\"", Data("Five kinds of source".utf8))
        part("name=\"file\"; filename=\"a file.txt\"\r\nContent-Type: text/plain", Data("some text".utf8))
        part("name=\"data\"; filename=\"data.json\"\r\nContent-Type: application/json", Data("{\"kinds\": 5}".utf8))
        part("name=\"slice\"; filename=\"first4.bin\"\r\nContent-Type: application/octet-stream", Data("some".utf8))
        let squares = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 * $0) })
        part("name=\"closure\"; filename=\"squares.bin\"\r\nContent-Type: application/octet-stream", squares)
        part("name=\"stream\"; filename=\"stream.txt\"\r\nContent-Type: text/plain", Data("from a stream".utf8))
        wanted += Data("--five-kinds--\r\n".utf8)
        func digest(_ bytes: Data) throws -> String {
            let copy = folder.url("copy")
            try bytes.write(to: copy)
            return try output(of: "blob", ["sum", copy.path]).components(separatedBy: " ")[0]
        }
        let printed = try output(of: "ComposeForm", [file.path]).components(separatedBy: "\n")
        #expect(printed.first == "multipart/form-data; boundary=five-kinds")
        #expect(printed.dropFirst().first == "\(wanted.count) bytes, SHA-256 \(try digest(wanted))")
        #expect(printed.dropFirst(2).first == "from byte 500000, SHA-256 \(try digest(wanted.dropFirst(500_000)))")
        #expect(try lineCount(of: "Examples/ComposeForm/main.swift") < 60)
    }

    @Test(.enabled(if: isBuilt("AlbumZip"))) func anAlbumIsAZipThatAClientContinues() throws {
        let folder = try TemporaryFolder()
        let photos = try (0..<3).map { try folder.write(makeContent(100_000 + $0), to: "\($0).jpg") }
        let library = folder.path("library")
        _ = try output(of: "blob", ["library", "create", "--library", library])
        for photo in photos { _ = try output(of: "blob", ["library", "import", "--library", library, photo]) }
        _ = try output(of: "blob", ["library", "album", "create", "--library", library, "Sea"])
        let assets = try output(of: "blob", ["library", "ls", "--library", library]).split(separator: "\n")
        for asset in assets {
            _ = try output(of: "blob", ["library", "album", "add", "--library", library, "Sea", String(asset)])
        }
        var port = 0
        for (options, file) in [(["--length", "150000"], "beginning"), (["--offset", "150000"], "rest")] {
            try withServer("AlbumZip", [library, "Sea", "\(port)", "secret"]) { url in
                port = try #require(URLComponents(string: url)?.port)
                _ = try output(of: "blob", ["cat", "-o", folder.path(file)] + options + [url + "Sea.zip"])
            }
        }
        _ = try shell("cat beginning rest > Sea.zip && mkdir out", in: folder.url)
        #expect(try output(of: "blob", ["test", folder.path("Sea.zip")]).contains("OK, 3 members"))
        _ = try output(of: "blob", ["extract", folder.path("Sea.zip"), "-C", folder.path("out")])
        #expect(try shell("for n in 0 1 2; do cmp $n.jpg out/$n.jpg; done", in: folder.url).isEmpty)
    }

    /// Each command of the `console` blocks prints what stands below it.
    @Test(arguments: [
        "README.md", "Sources/blob/blob.docc/CommandLine.md", "Sources/blob/blob.docc/LayersOfContainers.md",
    ])
    func theCommandsOfTheDocumentationPrintWhatItSays(_ path: String) throws {
        let folder = try TemporaryFolder()
        let blocks = try text(of: path).components(separatedBy: "```console\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(!blocks.isEmpty)
        for block in blocks {
            for step in block.components(separatedBy: "$ ").dropFirst() {
                let lines = step.split(separator: "\n", omittingEmptySubsequences: false)
                let wanted = lines.dropFirst().joined(separator: "\n")
                let found = try shell(String(lines[0]), in: folder.url)
                #expect(found.trimmingCharacters(in: .newlines) == wanted.trimmingCharacters(in: .newlines))
            }
        }
    }

    private func lineCount(of path: String) throws -> Int {
        try text(of: path).split(separator: "\n", omittingEmptySubsequences: false).count - 1
    }

    private func text(of path: String) throws -> String {
        try String(contentsOf: projectFolder.appendingPathComponent(path), encoding: .utf8)
    }
}

/// False for an example of a part that is off.
func isBuilt(_ product: String) -> Bool {
    FileManager.default.fileExists(atPath: productsFolder.appendingPathComponent(product).path)
}

func output(
    of product: String, _ arguments: [String] = [], environment: [String: String] = [:]
) throws -> String {
    try run(
        productsFolder.appendingPathComponent(product).path, arguments, in: FileManager.default.temporaryDirectory,
        environment: environment)
}

/// Runs the receiver for as long as `body` takes, which is given its URL.
func withReceiver(_ arguments: [String] = [], _ body: (String) throws -> Void) throws {
    try withServer("blob-receive", arguments, body)
}

/// Runs `body` with the URL that a server prints first.
func withServer(_ program: String, _ arguments: [String], _ body: (String) throws -> Void) throws {
    let (server, pipe) = (Process(), Pipe())
    server.arguments = arguments
    server.executableURL = productsFolder.appendingPathComponent(program)
    server.standardOutput = pipe
    try server.run()
    defer {
        // Not SIGTERM, which the threads of tests block, and their processes inherit.
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
    }
    var line = Data()
    while let byte = try pipe.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8), !byte.isEmpty {
        line += byte
    }
    try body(String(decoding: line, as: UTF8.self))
}

/// Runs an example, whatever its status.
func finished(
    _ product: String, _ arguments: [String] = [], environment: [String: String] = [:]
) throws -> FinishedProcess {
    try FinishedProcess(
        productsFolder.appendingPathComponent(product).path, arguments,
        environment: ["ASAN_OPTIONS": "detect_leaks=0"].merging(environment) { $1 })
}

func shell(_ command: String, in folder: URL) throws -> String {
    try run("/bin/sh", ["-c", command], in: folder)
}

private func run(
    _ executable: String, _ arguments: [String], in folder: URL, environment: [String: String] = [:]
) throws -> String {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    // Variables of a main file are never released, and the leak checker does not see the pointers that `Data` packs.
    let process = try FinishedProcess(
        executable, arguments, in: folder,
        environment: ["PATH": "\(productsFolder.path):\(path)", "ASAN_OPTIONS": "detect_leaks=0"].merging(environment) {
            $1
        })
    FileHandle.standardError.write(Data(process.errors.utf8))
    return process.outputText
}

/// The examples of the ancestor's documents: mapped files, whole libraries, adjusted photos.
extension ExamplesTests {
    @Test(.enabled(if: isBuilt("Upload")))
    func aMappedFileIsUploadedInLessMemoryThanItHasBytes() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("film.mov")
        try Data(makeContent(1000)).write(to: file)
        try #require(truncate(file.path, 256 << 20) == 0)
        let digest = try output(of: "blob", ["sum", file.path]).prefix { $0 != " " }
        let program = productsFolder.appendingPathComponent("Upload").path
        try withReceiver { url in
            // Of memory for data, in KiB, which pages of files are not.
            let printed = try shell(
                "ulimit -d 131072; exec '\(program)' mapped '\(file.path)' \(url)", in: folder.url(""))
            #expect(printed.hasPrefix("201 ") && printed.contains(digest), "\(printed)")
            #expect(printed.contains("application/octet-stream"), "\(printed)")
        }
    }

    @Test(.enabled(if: isBuilt("Upload")))
    func anUploadContinuesAfterAKill() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("film.mov")
        let content = Data(makeContent(1000)) + Data(count: 30_000_000)
        try content.write(to: file)
        try withReceiver(["--directory", folder.path("store")]) { url in
            let arguments = ["resume", file.path, url, folder.path("state")]
            let (killed, pipe) = (Process(), Pipe())
            killed.executableURL = productsFolder.appendingPathComponent("Upload")
            (killed.arguments, killed.standardError) = (arguments, pipe)
            try killed.run()
            _ = pipe.fileHandleForReading.availableData
            kill(killed.processIdentifier, SIGKILL)
            killed.waitUntilExit()
            #expect(folder.names.contains("state"))
            #expect(try output(of: "Upload", arguments).contains("uploaded to \(url)"))
            let isEqual = FileManager.default.contents(atPath: folder.path("store/film.mov")) == content
            #expect(isEqual)
            #expect(!folder.names.contains("state"))
        }
    }

    @Test(.enabled(if: isBuilt("AssetPicker") && isBuilt("Upload")))
    func aWholeLibraryIsUploadedAndAfterAKillOnlyWhatIsMissing() throws {
        let folder = try TemporaryFolder()
        let library = folder.path("library")
        let contents = (0..<6).map { Data(makeContent(1000 + $0)) + Data(count: $0 == 2 ? 60_000_000 : 0) }
        for (number, content) in contents.enumerated() { try content.write(to: folder.url("\(number).jpg")) }
        _ = try output(of: "blob", ["library", "create", "--library", library])
        let files = contents.indices.map { folder.path("\($0).jpg") }
        _ = try output(of: "blob", ["library", "import", "--library", library] + files)
        try withReceiver(["--directory", folder.path("store")]) { url in
            let arguments = ["library", library, url, folder.path("state")]
            let (killed, pipe) = (Process(), Pipe())
            killed.executableURL = productsFolder.appendingPathComponent("Upload")
            (killed.arguments, killed.standardError) = (arguments, pipe)
            try killed.run()
            let list = folder.path("state/uploaded")
            var text = ""
            // After 4 MB of it, the receiver has some of them, and one of the small ones has ended.
            let counts = /2\.jpg: (\d+) of 6/
            while text.matches(of: counts).last.flatMap({ Int($0.output.1) }) ?? 0 < 4_000_000
                || folder.read("state/uploaded")?.contains("\n") != true
            {
                let bytes = pipe.fileHandleForReading.availableData
                guard !bytes.isEmpty else { break }
                text += String(decoding: bytes, as: UTF8.self)
            }
            kill(killed.processIdentifier, SIGKILL)
            killed.waitUntilExit()
            let before = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").count
            #expect((1..<6).contains(before))
            let next = try FinishedProcess(productsFolder.appendingPathComponent("Upload").path, arguments)
            #expect(next.outputText == "uploaded \(6 - before) assets\n")
            // The first count of an upload from its start would be less: it is that of one read.
            let resumed = next.errors.firstMatch(of: counts).flatMap { Int($0.output.1) }
            #expect(resumed ?? 0 > 1_000_000, "\(next.errors.prefix(200))")
            for (number, content) in contents.enumerated() {
                let isEqual = FileManager.default.contents(atPath: folder.path("store/\(number).jpg")) == content
                #expect(isEqual, "\(number)")
            }
            #expect(try output(of: "Upload", arguments) == "uploaded 0 assets\n")
            // The kill may have left a file under its temporary name, which is hidden.
            let states = try FileManager.default.contentsOfDirectory(atPath: folder.path("state"))
            #expect(states.filter { !$0.hasPrefix(".") } == ["uploaded"])
        }
    }

    @Test(.enabled(if: isBuilt("blob-media-helper") && isBuilt("AssetPicker")))
    func theAncestorsTwoProgramsReadAnAdjustedAsset() throws {
        let folder = try TemporaryFolder()
        let library = folder.path("library")
        let photo = projectFolder.appendingPathComponent("Tests/AssetLibrarySourceTests/Fixtures/facts.jpg").path
        _ = try output(of: "blob", ["library", "create", "--library", library])
        let asset = try output(of: "blob", ["library", "import", "--library", library, photo])
            .trimmingCharacters(in: .newlines)
        func digests() throws -> [String] {
            try [["blob", "sum"], ["SynchronousChecksum"], ["RunLoopChecksum"]].map { command in
                let arguments = command.dropFirst() + [asset]
                let printed = try output(of: command[0], Array(arguments), environment: ["BLOB_LIBRARY": library])
                return String(printed.prefix { $0.isHexDigit })
            }
        }
        let original = try digests()
        #expect(Set(original).count == 1 && original[0].count == 64, "\(original)")
        _ = try output(of: "blob", ["library", "adjust", "--rotate", "90", "--library", library, asset])
        let adjusted = try digests()
        #expect(Set(adjusted).count == 1 && adjusted[0].count == 64 && adjusted[0] != original[0], "\(adjusted)")
    }
}
