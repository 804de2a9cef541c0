#if Photos
import BlobHelper
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import AssetLibrarySource

/// Damaged sidecars, recipes, journals, documents of Takeout and catalogues. `BLOBSTREAMS_MUTATIONS` is their number,
/// `BLOBSTREAMS_SEED` their seed.
@Suite(.serialized) struct DocumentMutationTests {
    private static let memoryByteCount = 256 << 20

    /// A document, and what reads it; errors are typed and those of damaged input.
    private struct Parser: Sendable {
        let document: [UInt8]
        let parse: @Sendable ([UInt8]) throws -> Void
    }

    private static func parsers(of kind: String) throws -> [Parser] {
        let fixture = libraryFixture
        let picture = DecodedPicture(MediaDescription(HeaderBytes(Pictures.jpeg(width: 4032, height: 3024))))
        func sidecar(_ kind: AdjustmentDescriptions.SidecarKind, _ document: [UInt8]) -> Parser {
            Parser(document: document) { bytes in
                _ = AdjustmentDescriptions(sidecars: [kind: bytes]).adjustment(of: picture)
                _ = kind == .xmp ? try XMPPacket(bytes) : nil
            }
        }
        switch kind {
        case "sidecar":
            return [
                sidecar(.xmp, try fixture("aas.xmp")), sidecar(.xmp, try fixture("crs.xmp")),
            ]
        case "recipe":
            let matrix = AffineMatrix(a: 1, b: 0.5, c: -0.5, d: 1, tx: 3, ty: 4)
            let crop = PictureRectangle(left: 1, top: 2, width: 30, height: 40)
            let recipe = AdjustmentRecipe([
                .orientation(6), .affine(matrix, width: 500, height: 400), .straighten(degrees: 3), .crop(crop),
                .exposure(0.5),
            ])
            return [
                Parser(document: recipe.canonicalBytes) { bytes in
                    let recipe = try AdjustmentRecipe(bytes)
                    _ = try RenderPlan(recipe, for: PictureSize(width: 4032, height: 3024))
                    try #require(try AdjustmentRecipe(recipe.canonicalBytes) == recipe)
                }
            ]
        case "journal":
            let asset = JournalAsset(
                id: UUID(), name: "a.jpg", byteCount: 5, sha256: String(repeating: "ab", count: 32), path: "originals",
                generation: 1, importedAt: 0, latitude: 1.5, longitude: 2)
            let adjustment = JournalAdjustment(
                id: UUID(), generation: 2, recipe: "{}", sidecars: ["aae": Data([1, 2, 3])],
                render: JournalRender(id: UUID(), adjustment: String(repeating: "ab", count: 32)))
            let album = JournalAlbum(name: "album", isShared: true, madeAt: 5)
            let entries: [JournalEntry] = [
                .begun(UUID(), after: [JournalPlace(byteCount: 5, id: UUID())]), .added(asset),
                .adjusted(adjustment), .albumMade(album), .listed(UUID(), album: "album"),
            ]
            return try entries.map { entry in
                // The sum is made to fit.
                Parser(document: try entry.line().dropLast(27)) { bytes in
                    _ = JournalEntry(line: bytes + JournalEntry.sum(bytes))
                    _ = JournalEntry(line: bytes)
                }
            }
        default:
            let document = """
                {"title": "a.jpg", "photoTakenTime": {"timestamp": "1577934245"}, "people": [{"name": "B"}],
                 "geoData": {"latitude": 48.5, "longitude": 2.25, "altitude": 3e2}}
                """
            return [
                Parser(document: Array(document.utf8)) { bytes in
                    _ = TakeoutDocument(Data(bytes))
                    let name = String(decoding: bytes.prefix(60), as: UTF8.self)
                    _ = TakeoutDocument.match(for: name, documents: ["\(name).json", "a.json"], photos: ["a.jpg"])
                }
            ]
        }
    }

    /// Returns bytes with up to 8 changes: other bytes, parts that are gone, and parts that are there twice.
    private static func mutant(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0...(random.next() % 8) where !bytes.isEmpty {
            let place = Int(random.next() % UInt64(bytes.count))
            let end = min(bytes.count, place + 1 + Int(random.next() % 64))
            switch random.next() % 8 {
            case 0: bytes.removeSubrange(place..<end)
            case 1: bytes.insert(contentsOf: bytes[place..<end], at: Int(random.next() % UInt64(bytes.count)))
            case 2: bytes[place] = Array("0123456789eE+-.{}[]<>\"/&;:".utf8)[Int(random.next() % 26)]
            default: bytes[place] ^= 1 << UInt8(random.next() % 8)
            }
        }
        return bytes
    }

    private static let typed: Set<BlobError.Code> = [
        .corrupted, .truncated, .limitExceeded, .unsupported, .invalidArgument, .inconsistent, .notFound, .sizeMismatch,
        .checksumMismatch, .io, .permissionDenied,
    ]

    /// Calls `body` with the number of each mutant; counts errors, which have to be typed.
    private static func run(_ name: String, _ body: (Int, inout SplitMix64) throws -> Void) throws {
        let seed: UInt64 = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 1 ... .max)
        var (random, failures, slowest) = (SplitMix64(seed: seed), 0, Duration.zero)
        let count = environmentNumber("BLOBSTREAMS_MUTATIONS") ?? 200
        for number in 0..<count {
            let start = ContinuousClock.now
            do {
                try body(number, &random)
            } catch {
                let code = (error as? BlobError)?.code
                try #require(code.map(self.typed.contains) == true, "seed \(seed), \(number): \(error)")
                failures += 1
            }
            slowest = max(slowest, start.duration(to: .now))
        }
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
        let peak = status.first { $0.hasPrefix("VmHWM:") }?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        let peakByteCount = try #require(peak) * 1024
        print(
            "DocumentMutationTests \(name): seed \(seed), \(count) mutants, \(failures) errors, slowest \(slowest), "
                + "at most \(peakByteCount >> 20) MiB")
        try #require(peakByteCount <= self.memoryByteCount)
    }

    @Test(.enabled(if: isLinux), arguments: ["sidecar", "recipe", "journal", "takeout"])
    func everyOutcomeOfADocumentIsTyped(kind: String) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) { [kind] in
            let parsers = try Self.parsers(of: kind)
            for parser in parsers { try parser.parse(parser.document) }
            try Self.run(kind) { number, random in
                let parser = parsers[number % parsers.count]
                try parser.parse(Self.mutant(parser.document, &random))
            }
        }
        printOutput(of: result)
    }

    /// Opens a library with a damaged catalogue, lists and checks it.
    @Test(.enabled(if: isLinux)) func everyOutcomeOfACatalogueIsTyped() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            let test = try TestLibrary()
            let asset = try test.add(Pictures.picture, named: "a.png")
            for number in 0..<20 { try test.add([UInt8(number)], named: "\(number)") }
            _ = try test.library.setAdjustment(AdjustmentRecipe([.exposure(1)]), of: asset.id)
            try test.library.makeAlbum(named: "album")
            try test.library.addAsset(asset.id, toAlbum: "album")
            try test.library.makeAlbum(named: "stream", isShared: true)
            try test.library.addAsset(asset.id, toAlbum: "stream")
            let folder = test.folder.appendingPathComponent("damaged")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: test.path("journal.jsonl"), toPath: folder.appendingPathComponent("journal.jsonl").path)
            try FileManager.default.copyItem(
                atPath: test.path("originals"), toPath: folder.appendingPathComponent("originals").path)
            let catalogue = folder.appendingPathComponent("catalog.sqlite").path
            try test.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: test.path("catalog.sqlite"))))
            try BlobTestSupport.write(whole, to: catalogue)
            var findings: [LibraryFinding] = []
            try #require(
                try LibraryCheck(of: folder, isDeep: true, repairsProblems: false) { findings.append($0) }.run())
            try #require(findings.isEmpty, "\(findings)")
            try Self.run("catalogue") { _, random in
                var bytes = whole
                if random.next() % 8 == 0 { bytes.removeLast(Int(random.next() % UInt64(bytes.count))) }
                for _ in 0...(random.next() % 16) where !bytes.isEmpty {
                    // The header and the schema are in the first pages; a page that was lost is zero.
                    let reach = random.next() % 4 == 0 ? min(bytes.count, 512) : bytes.count
                    let place = Int(random.next() % UInt64(reach))
                    if random.next() % 32 == 0 {
                        for index in (place & ~4095)..<min(bytes.count, place | 4095) { bytes[index] = 0 }
                    } else {
                        bytes[place] = UInt8(truncatingIfNeeded: random.next())
                    }
                }
                for suffix in ["-wal", "-shm"] { unlink(catalogue + suffix) }
                try BlobTestSupport.write(bytes, to: catalogue)
                let isDeep = random.next() % 4 == 0
                _ = try LibraryCheck(of: folder, isDeep: isDeep, repairsProblems: false) { _ in }.run()
                let library = try AssetLibrary(at: folder)
                try library.forEachAsset { _ = try library.source(for: $0.id, version: .original).info() }
                _ = try library.adjustment(of: asset)
                for album in try library.albums() { _ = try library.assets(inAlbum: album.name) }
                _ = try readAll(library.source(for: asset.id, version: .original).open())
            }
        }
        printOutput(of: result)
    }
}

/// Prints the output of a test's process, which has the counts.
func printOutput(of result: ExitTest.Result?) {
    print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self), terminator: "")
}
#endif
