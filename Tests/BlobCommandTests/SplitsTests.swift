#if Command
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// `blob job splits`, and `blob cat --records` over what it prints.
@Suite struct SplitsTests {
    private struct Split: Decodable {
        let locator: String
        let offset: Int64
        let length: Int64
    }

    private let folder: TemporaryFolder
    private let text: [UInt8]

    init() throws {
        self.folder = try TemporaryFolder()
        // Lines of all lengths, empty ones among them, LF and CRLF, one that is longer than a range, and no last end.
        let bytes = makeContent(6_000_000)
        var text: [UInt8] = []
        for (number, start) in stride(from: 0, to: bytes.count - 4000, by: 4000).enumerated() {
            let line = bytes[start..<(start + Int(bytes[start]) * 15)].map {
                "0123456789abcdef\t".utf8.map { $0 }[Int($0 % 17)]
            }
            text += line + Array(number % 3 == 0 ? "\r\n".utf8 : "\n".utf8)
            if number == 700 { text += [UInt8](repeating: UInt8(ascii: "x"), count: 600_000) }
        }
        self.text = text + Array("the last".utf8)
        try self.folder.write(self.text, to: "text")
        try self.folder.makeFolder("caches")
    }

    private func run(_ arguments: String...) throws -> Outcome {
        try Launch(arguments).with { $0.caches = self.folder.path("caches") }.run()
    }

    private func make(_ script: String) throws { try self.folder.run("bash", "-ec", script) }

    /// What has no places to begin at, besides the start: a deflated member of less than 4 MiB has no index, a single
    /// frame no restart points, and libarchive, which decodes what no part of the package does, tells none.
    private static let unsplittable: Set = ["a.zip#text", "text.zst"]

    /// As one value: the difference of such long arrays, which a failed expectation would print, takes hours to find.
    private func expectText(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        let isText = bytes == self.text
        #expect(isText, "\(bytes.count) bytes, not \(self.text.count)", sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ("text", "true"), ("text.gz", "gzip -k text"), ("text.bz2", "bzip2 -k text"),
        ("text.xz", "xz -k -0 --block-size=200000 text"), ("text.zst", "zstd -q -k text"),
        ("a.tar#text", "tar cf a.tar text"), ("a.tar.gz#text", "tar czf a.tar.gz text"),
        ("a.zip#text", "zip -q a.zip text"), ("stored.zip#text", "zip -q -0 stored.zip text"),
    ])
    func allRangesTogetherHaveEachLineOnce(name: String, script: String) throws {
        try self.make(script)
        let locator = self.folder.path(name)
        if name.hasSuffix(".gz") || name.hasSuffix("bz2") || name.hasSuffix("zst") || name.contains(".gz#") {
            _ = try self.run("index", "build", name.contains("#") ? self.folder.path("a.tar.gz") : locator)
        }
        let outcome = try self.run("job", "splits", locator, "--count", "7", "--records", "lines")
        if Self.unsplittable.contains(name) {
            return expect(outcome, failsWith: "unsupported", 65)
        }
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        let splits = try outcome.text.split(separator: "\n").map {
            try JSONDecoder().decode(Split.self, from: Data($0.utf8))
        }
        #expect((2...7).contains(splits.count))
        #expect(splits.reduce(0) { $0 + $1.length } == Int64(self.text.count))
        var lines: [UInt8] = []
        for split in splits {
            #expect(split.length <= Int64(self.text.count / splits.count * 5 / 2))
            let part = try self.run(
                "cat", split.locator, "--records", "lines", "--offset", "\(split.offset)", "--length", "\(split.length)"
            )
            #expect(part.ending == .status(0), "\(part.errorText)")
            lines += part.output
        }
        self.expectText(lines)
    }

    private static let parts = ["Ranges", "Members", "Damage", "Bins", "Tasks"]

    /// Without Spark: `make spark-check` has it.
    @Test(arguments: parts)
    func theModuleForSparkReadsAndStoresEachOnce(_ part: String) throws {
        let script = projectFolder.appendingPathComponent("Tests/SparkCheck/module_test.py").path
        let outcome = try Launch(script, part, Launch.blob).with { launch in
            launch.program = "/usr/bin/python3"
            launch.caches = self.folder.path("caches")
        }.run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
    }

    @Test func withoutRecordsTheRangesAreBytes() throws {
        let outcome = try self.run("job", "splits", self.folder.path("text"), "--bytes", "1M")
        let splits = try outcome.text.split(separator: "\n").map {
            try JSONDecoder().decode(Split.self, from: Data($0.utf8))
        }
        #expect(splits.count == (self.text.count + (1 << 20) - 1) >> 20)
        var bytes: [UInt8] = []
        for split in splits {
            bytes += try self.run("cat", split.locator, "--offset", "\(split.offset)", "--length", "\(split.length)")
                .output
        }
        self.expectText(bytes)
    }

    @Test func whatCannotBeIsRefused() throws {
        try self.make("gzip -k text; : > empty")
        expect(try self.run("job", "splits", self.folder.path("text.gz")), failsWith: "unsupported", 65)
        // What cannot have an index is not told to get one without more ado.
        try self.make("printf short > one; zstd -q one")
        for command in [["job", "splits"], ["index", "build"]] {
            let outcome = try self.run(command[0], command[1], self.folder.path("one.zst"))
            expect(outcome, failsWith: "unsupported", 65, saying: "zstd data with")
        }
        expect(try self.run("job", "splits", self.folder.path("nope")), failsWith: "notFound", 66)
        let empty = try self.run("job", "splits", self.folder.path("empty"), "--count", "9").text
        #expect(empty.contains("\"length\":0,") && empty.split(separator: "\n").count == 1)
        for arguments in [
            ["--count", "0"], ["--bytes", "0"], ["--count", "2", "--bytes", "1"], ["--records", "words"],
        ] {
            let outcome = try Launch(["job", "splits", self.folder.path("text")] + arguments).run()
            #expect(outcome.ending == .status(64))
        }
        let two = try self.run("cat", "--records", "lines", self.folder.path("text"), self.folder.path("text"))
        #expect(two.ending == .status(64))
    }

    /// An index of other content is not used.
    @Test func aStaleIndexGivesNoWrongLine() throws {
        try self.make("gzip -k text")
        let gzip = self.folder.path("text.gz")
        _ = try self.run("index", "build", gzip)
        #expect(try self.run("job", "splits", gzip, "--count", "4").text.split(separator: "\n").count > 1)
        try self.make("tr a-f A-F < text > other; gzip -c other > text.gz")
        expect(try self.run("job", "splits", gzip, "--count", "4"), failsWith: "unsupported", 65)
    }
}
#endif
