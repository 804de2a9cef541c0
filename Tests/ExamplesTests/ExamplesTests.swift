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
        let missing = folder.url("missing").absoluteString
        for program in ["SynchronousChecksum", "RunLoopChecksum"] {
            #expect(try output(of: program, [missing]).hasPrefix("failed: notFound:"))
        }
    }

    @Test func progressIsObserved() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("x")
        try Data(count: 3 * 64 * 1024).write(to: file)
        let lines = try output(of: "ObservedProgress", [file.absoluteString]).split(separator: "\n")
        // Two observers: each sees its changes in order.
        #expect(lines.filter { $0.hasSuffix("%") } == ["33 %", "66 %", "100 %"])
        let phases = ["notOpen", "notOpen -> opening", "opening -> open", "open -> atEnd", "atEnd -> closed"]
        #expect(lines.filter { !$0.hasSuffix("%") }.map(String.init) == phases)
    }

    @Test func theBytesOfAStreamAreCounted() throws {
        let folder = try TemporaryFolder()
        try Data(count: 200_000).write(to: folder.url("x"))
        let lines = try output(of: "CountedStream", [folder.path("x")]).split(separator: "\n")
        #expect(lines.dropLast().last?.hasSuffix(" bytes, 200000 in all") == true, "\(lines)")
        #expect(lines.last == "at the end")
        #expect(try output(of: "CountedStream", [folder.path("missing")]).contains("failed: "))
    }

    @Test func streamsAndFilesAreJoined() throws {
        let folder = try TemporaryFolder()
        let (first, second) = (folder.url("first"), folder.url("second"))
        let long = String(repeating: "0123456789", count: 20_000)  // More than one window.
        try Data("one\n".utf8).write(to: first)
        try Data(long.utf8).write(to: second)
        let printed = try output(of: "JoinedStreams", [first.path, second.path])
        #expect(printed == "==> \(first.path) <==\none\n==> \(second.path) <==\n\(long)")
        #expect(try output(of: "JoinedStreams", [folder.path("missing")]).contains("failed: notFound:"))
    }

    @Test func theCustomSourceKeepsTheContracts() throws {
        let lines = try output(of: "CustomSource").split(separator: "\n")
        #expect(lines.prefix(2) == ["Hello, world!", "broken contracts: []"])
        #expect(lines.last?.hasPrefix("of a liar: [C8: ") == true, "\(lines)")
    }

    @Test func theEventDrivenSourceKeepsTheContracts() throws {
        let ticks = "tick, 2 left\ntick, 1 left\ntick, 0 left\n"
        #expect(try output(of: "EventDrivenSource") == ticks + "broken contracts: []\n")
    }

    @Test(arguments: [0, 1, 1_000_000]) func theBoundPairPumpPassesAFileOn(byteCount: Int) throws {
        let folder = try TemporaryFolder()
        let file = folder.url("file")
        try Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }).write(to: file)
        let digest = try output(of: "Checksum", [file.absoluteString]).prefix { $0 != " " }
        #expect(try output(of: "BoundPairPump", [file.absoluteString]) == "\(digest) \(byteCount)\n")
    }

    @Test func theBoundPairPumpPassesAnErrorOn() throws {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let found = try output(of: "BoundPairPump", [missing.absoluteString])
        #expect(found.hasPrefix("notFound: "), "\(found)")
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

    @Test(.enabled(if: isBuilt("UploadCustomSource"))) func aSourceOfOnesOwnIsUploadedByItsLocator() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("numbers")
        try Data((1...100_000).map { "\($0) " }.joined().utf8).write(to: file)
        let digest = try output(of: "blob", ["sum", file.path]).prefix { $0 != " " }
        try withReceiver { url in
            let printed = try output(of: "UploadCustomSource", ["count:100000", url])
            #expect(printed.hasPrefix("201 "))
            #expect(printed.contains(digest), "\(printed)")
        }
    }

    @Test(.enabled(if: isBuilt("UploadAsset")))
    func anAssetIsUploadedAsAPartOfAForm() throws {
        let folder = try TemporaryFolder()
        let library = folder.path("library")
        let file = folder.url("a photo.jpg")
        try Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: file)
        _ = try output(of: "blob", ["library", "create", "--library", library])
        let asset = try output(of: "blob", ["library", "import", "--library", library, file.path])
            .trimmingCharacters(in: .newlines)
        let digest = try output(of: "blob", ["sum", file.path]).prefix { $0 != " " }
        try withReceiver { url in
            let printed = try output(of: "UploadAsset", [library, asset, url])
            #expect(printed.hasPrefix("201 "), "\(printed)")
            #expect(printed.contains(digest), "\(printed)")
        }
    }

    @Test(.enabled(if: isBuilt("ResumeUpload")))
    func anUploadGoesOnAfterAKill() throws {
        let folder = try TemporaryFolder()
        let file = folder.url("film.mov")
        let content = Data(makeContent(1000)) + Data(count: 30_000_000)
        try content.write(to: file)
        try withReceiver(["--directory", folder.path("store")]) { url in
            let arguments = [file.path, url, folder.path("state")]
            let (killed, pipe) = (Process(), Pipe())
            killed.executableURL = productsFolder.appendingPathComponent("ResumeUpload")
            (killed.arguments, killed.standardError) = (arguments, pipe)
            try killed.run()
            _ = pipe.fileHandleForReading.availableData
            kill(killed.processIdentifier, SIGKILL)
            killed.waitUntilExit()
            #expect(folder.names.contains("state"))
            #expect(try output(of: "ResumeUpload", arguments).contains("uploaded to \(url)"))
            let isEqual = FileManager.default.contents(atPath: folder.path("store/film.mov")) == content
            #expect(isEqual)
            #expect(!folder.names.contains("state"))
        }
    }

    /// Runs the receiver for as long as `body` takes, which is given its URL.
    func withReceiver(_ arguments: [String] = [], _ body: (String) throws -> Void) throws {
        let (receiver, pipe) = (Process(), Pipe())
        receiver.arguments = arguments
        receiver.executableURL = productsFolder.appendingPathComponent("blob-receive")
        receiver.standardOutput = pipe
        try receiver.run()
        defer {
            receiver.terminate()
            receiver.waitUntilExit()
        }
        var line = Data()
        while let byte = try pipe.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8), !byte.isEmpty {
            line += byte
        }
        try body(String(decoding: line, as: UTF8.self))
    }

    @Test func theExamplesOfOneSourceAreAsShortAsTheReadMeSays() throws {
        #expect(try lineCount(of: "Examples/CustomSource/main.swift") == 53)
        #expect(try lineCount(of: "Examples/EventDrivenSource/main.swift") == 72)
        #expect(try lineCount(of: "README.md") < 160)
    }

    @Test func theSwiftOfTheReadMeIsTheExample() throws {
        #expect(try text(of: "README.md").contains("```swift\n" + text(of: "Examples/Checksum/main.swift") + "```"))
    }

    /// Each command of the `console` blocks prints what stands below it.
    @Test(arguments: ["README.md", "Sources/BlobCore/BlobCore.docc/CommandLine.md"])
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
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
}

/// The folder of the repository.
let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

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
