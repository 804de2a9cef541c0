import BlobTestSupport
import Foundation
import Testing

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
        let photo = root.appendingPathComponent("Tests/AssetLibrarySourceTests/Fixtures/facts.jpg").path
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
