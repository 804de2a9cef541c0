import BlobTestSupport
import Foundation
import Testing

/// Each example without arguments, on a missing file, on a gzip that was cut in half and on an asset: a usage, one line
/// with the status of its code, and the digest of what it sent.
@Suite(.timeLimit(.minutes(15))) struct ExampleStatusTests {
    /// A use of an example, and the statuses that it ends with.
    struct Use: CustomTestStringConvertible, Sendable {
        let program: String
        /// Its arguments: `LOCATOR`, `URL` of a receiver and `STATE`, a path, are replaced.
        let arguments: [String]
        var missing: Int32 = 66
        var cut: Int32 = 65
        var asset: Int32 = 0
        /// True when it prints the digest of the bytes, of its own or as the answer of the receiver.
        var printsDigest = true

        var testDescription: String { "\(self.program) \(self.arguments.joined(separator: " "))" }
    }

    static let uses = [
        Use(program: "AlbumZip", arguments: ["LOCATOR", "album"], cut: 66, asset: 66),
        Use(program: "BoundPairPump", arguments: ["LOCATOR", "URL"]),
        Use(program: "ChangedAsset", arguments: ["LOCATOR", "true"]),
        Use(program: "Checksum", arguments: ["LOCATOR"]),
        Use(program: "ComposeForm", arguments: ["LOCATOR"], printsDigest: false),
        Use(program: "CustomSource", arguments: ["LOCATOR"], printsDigest: false),
        Use(program: "CustomSource", arguments: ["LOCATOR", "URL"]),
        Use(program: "FormRequest", arguments: ["LOCATOR", "URL"]),
        Use(program: "JoinedStreams", arguments: ["LOCATOR"], printsDigest: false),
        Use(program: "ObservedSource", arguments: ["LOCATOR"], printsDigest: false),
        Use(program: "RunLoopChecksum", arguments: ["LOCATOR"]),
        Use(program: "SmallChecksum", arguments: ["LOCATOR"], asset: 64, printsDigest: false),
        Use(program: "StreamedRequest", arguments: ["LOCATOR", "URL"]),
        Use(program: "SynchronousChecksum", arguments: ["LOCATOR"]),
        Use(program: "Upload", arguments: ["raw", "LOCATOR", "URL"]),
        Use(program: "Upload", arguments: ["form", "LOCATOR", "URL"]),
        Use(program: "Upload", arguments: ["resume", "LOCATOR", "URL", "STATE"], printsDigest: false),
        // These take a path of a file or a folder, which no locator is.
        Use(program: "Upload", arguments: ["mapped", "LOCATOR", "URL"], cut: 66, asset: 66),
        Use(program: "Upload", arguments: ["library", "LOCATOR", "URL", "STATE"], cut: 66, asset: 66),
        Use(program: "Upload", arguments: ["folder", "LOCATOR", "s3://bucket/"], cut: 66, asset: 66),
        Use(program: "Upload", arguments: ["unknown", "LOCATOR", "URL"], missing: 64, cut: 64, asset: 64),
        Use(program: "AssetPicker", arguments: ["LOCATOR", "URL", "STATE"], cut: 66, asset: 66),
    ].filter { isBuilt($0.program) }

    @Test(arguments: Set(uses.map(\.program)).sorted()) func withoutArgumentsThereIsAUsage(_ program: String) throws {
        let run = try finished(program)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.lowercased().contains("usage: \(program.lowercased()) "), "\(run.errors)")
    }

    @Test(arguments: ["blob_spark.py", "dask_put.py"])
    func withoutArgumentsAScriptHasAUsage(_ script: String) throws {
        let run = try FinishedProcess(
            "python3", [projectFolder.appendingPathComponent("Examples/Spark/\(script)").path])
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("usage: \(script) "), "\(run.errors)")
    }

    @Test(arguments: uses) func aFailureHasALineAndTheStatusOfItsCode(_ use: Use) throws {
        let folder = try TemporaryFolder()
        try folder.write(makeContent(300_000), to: "whole")
        _ = try shell("gzip -k whole && head -c 150000 whole.gz >cut.gz", in: folder.url)
        try withReceiver(["--directory", folder.path("store")]) { url in
            for (locator, status) in [
                (folder.path("missing"), use.missing), ("gzip+\(folder.path("cut.gz"))", use.cut),
            ] {
                let run = try finished(use.program, use.with(locator, url, folder))
                #expect(run.status == status, "\(run.errors)")
                let last = run.errors.split(separator: "\n").last ?? ""
                #expect(last.contains(#/^\w+: /#), "\(run.errors)")
            }
        }
        // What arrived is not stored as if it were whole.
        let stored = (try? FileManager.default.contentsOfDirectory(atPath: folder.path("store"))) ?? []
        #expect(stored.filter { !$0.hasPrefix(".") }.isEmpty)
    }

    @Test(.enabled(if: isBuilt("AssetPicker")), arguments: uses)
    func anAssetIsRead(_ use: Use) throws {
        let folder = try TemporaryFolder()
        let library = folder.path("library")
        try folder.write(makeContent(300_000), to: "a photo.jpg")
        _ = try output(of: "blob", ["library", "create", "--library", library])
        let asset = try output(of: "blob", ["library", "import", "--library", library, folder.path("a photo.jpg")])
            .trimmingCharacters(in: .newlines)
        let digest = try output(of: "blob", ["sum", folder.path("a photo.jpg")]).prefix { $0 != " " }
        try withReceiver(["--directory", folder.path("store")]) { url in
            let run = try finished(use.program, use.with(asset, url, folder), environment: ["BLOB_LIBRARY": library])
            #expect(run.status == use.asset, "\(run.errors)")
            if use.printsDigest, use.asset == 0 { #expect(run.outputText.contains(digest), "\(run.outputText)") }
        }
    }

    @Test(.enabled(if: isBuilt("blob-media-helper") && isBuilt("AssetPicker")))
    func aMovedAssetIsReadToItsEndAndAnEditedOneHasChanged() throws {
        let folder = try TemporaryFolder()
        let library = ["BLOB_LIBRARY": folder.path("library")]
        try Data(Self.noise.utf8).write(to: folder.url("noise.py"))
        _ = try shell("python3 noise.py", in: folder.url)
        _ = try output(of: "blob", ["library", "create"], environment: library)
        let asset = try output(of: "blob", ["library", "import", folder.path("noise.png")], environment: library)
            .trimmingCharacters(in: .newlines)
        let digest = try output(of: "blob", ["sum", folder.path("noise.png")]).prefix { $0 != " " }
        let blob = productsFolder.appendingPathComponent("blob").path
        func edit(_ degrees: Int) -> String { "\(blob) library adjust --rotate \(degrees) '\(asset)' >/dev/null" }
        // Away and back: another entry of the folder for the same bytes, as after a change by another program.
        let move = "cd '\(folder.path("library"))/originals'; file=$(find . -type f | head -1); mv $file a; mv a $file"
        for change in [move, "\(move); \(edit(90))"] {
            let run = try finished("ChangedAsset", ["\(asset)&version=original", change], environment: library)
            #expect(run.status == 0, "\(run.errors)")
            let lines = run.outputText.split(separator: "\n")
            #expect(lines.contains("invalidated") && lines.contains("recovering"), "\(change): \(lines)")
            #expect(lines.suffix(2) == ["recoveries: 1", digest], "\(change): \(lines)")
        }
        // The picture with its adjustment is other bytes after another one.
        let changed = try finished("ChangedAsset", [asset, edit(180)], environment: library)
        #expect(changed.status == 75 && changed.errors.hasPrefix("changed: "), "\(changed.errors)")
        #expect(changed.outputText.contains("invalidated\n"), "\(changed.outputText)")
    }

    /// Writes a picture of which no part can be left out: some megabytes, more than a stream reads ahead.
    private static let noise = """
        import random, struct, zlib
        random.seed(1)
        def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        header = struct.pack('>IIBBBBB', 1200, 900, 8, 2, 0, 0, 0)
        rows = b''.join(b'\\0' + random.randbytes(3600) for _ in range(900))
        open('noise.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', header)
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
        """
}

extension ExampleStatusTests.Use {
    fileprivate func with(_ locator: String, _ url: String, _ folder: TemporaryFolder) -> [String] {
        let values = ["LOCATOR": locator, "URL": url, "STATE": folder.path("state")]
        return self.arguments.map { values[$0] ?? $0 }
    }
}
