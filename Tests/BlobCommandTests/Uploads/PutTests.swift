#if Command
import BlobStreams
import BlobTestSupport
import CryptoDigest
import Foundation
import HTTPTestSupport
import Testing

/// `blob job put`, the contract of engines that repeat their tasks.
@Suite struct PutTests {
    private struct Line: Decodable {
        struct Failure: Decodable {
            let code: String
            let isTransient: Bool
        }

        let locator, url, state: String
        let bytes: Int64?
        let sha256: String?
        let error: Failure?
    }

    private let folder: TemporaryFolder
    private let store: TemporaryFolder
    private let server: PythonServer
    private let url: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.store = try TemporaryFolder()
        self.server = try PythonServer(.files(self.store.path))
        self.url = "http://127.0.0.1:\(self.server.port)/"
        for name in ["one", "two"] { try self.folder.write(name, to: name) }
    }

    private func put(_ arguments: String..., input: String = "") throws -> (outcome: Outcome, lines: [Line]) {
        let outcome = try Launch(["job", "put"] + arguments).run(input: Array(input.utf8))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let lines = try outcome.text.split(separator: "\n").map { try decoder.decode(Line.self, from: Data($0.utf8)) }
        return (outcome, lines)
    }

    private func digest(_ text: String) -> String {
        var hasher = CryptoDigest.sha256.makeHasher()
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        return hasher.finalizeHexadecimal()
    }

    private var sources: [String] { ["one", "two"].map(self.folder.path) }

    @Test func eachSourceHasALineInOrderAndAKeyOfItsLocator() throws {
        let missing = self.folder.path("missing")
        let list = "\(self.sources[1])\n\(missing)\n\n\(self.sources[0])\n"
        let (outcome, lines) = try self.put("--json", "--from-file", "-", self.url, self.sources[0], input: list)
        #expect(outcome.ending == .status(1) && outcome.errorText.isEmpty, "\(outcome.errorText)")
        #expect(lines.map(\.locator) == [self.sources[0], self.sources[1], missing, self.sources[0]])
        #expect(lines.map(\.state) == ["stored", "stored", "failed", "exists"])
        #expect(lines.map(\.url) == lines.map { self.url + self.digest($0.locator) })
        #expect(lines.map(\.bytes) == [3, 3, nil, 3] && lines[2].error?.code == "notFound")
        #expect(lines.map(\.sha256) == [self.digest("one"), self.digest("two"), nil, self.digest("one")])
        #expect(self.store.read(self.digest(self.sources[1])) == "two")
        let again = try self.put("--json", self.url, self.sources[0], self.sources[1])
        #expect(again.outcome.ending == .status(0) && again.lines.map(\.state) == ["exists", "exists"])
    }

    @Test func withoutJSONALineHasDigestAndPlace() throws {
        let (source, missing) = (self.sources[0], self.folder.path("missing"))
        let outcome = try Launch("job", "put", self.url, missing, source).run()
        #expect(outcome.ending == .status(1))
        #expect(outcome.text == "\(self.digest("one"))  \(self.url)\(self.digest(source))  \(source)\n")
        #expect(outcome.errorText.hasPrefix("blob: notFound: "))
    }

    /// The server tells no digest of these, and does not replace them: they are read back.
    @Test func whatIsNotReplacedMustHaveTheSameBytes() throws {
        let place = "without/"
        let contents = ["one", "1ne", "longer"]
        let sources = try contents.indices.map { try self.folder.write("one", to: "source-\($0)") }
        try self.store.makeFolder("without")
        for (source, content) in zip(sources, contents) {
            try self.store.write(content, to: place + self.digest(source))
        }
        let (outcome, lines) = try self.put("--json", self.url + place, sources[0], sources[1], sources[2])
        #expect(outcome.ending == .status(1) && lines.map(\.state) == ["exists", "failed", "failed"])
        #expect(lines[0].sha256 == self.digest("one"))
        #expect(lines.dropFirst().allSatisfy { $0.error?.code == "refused" })
        #expect(sources.map { self.store.read(place + self.digest($0)) } == contents)
    }

    @Test func anObjectOfTheSameSizeWithAnotherDigestIsNotTheSource() throws {
        try self.store.write("1ne", to: self.digest(self.sources[0]))
        let (outcome, lines) = try self.put("--json", self.url, self.sources[0])
        #expect(outcome.ending == .status(1) && lines.map(\.state) == ["failed"])
        #expect(lines[0].error?.code == "refused" && self.store.read(self.digest(self.sources[0])) == "1ne")
    }

    @Test func theLineIsPrintedBeforeTheNextSourceIsAskedFor() throws {
        let process = try Launch("job", "put", self.url, "--from-file", "-").start()
        var expected = ""
        for (source, content) in zip(self.sources, ["one", "two"]) {
            process.write(Array("\(source)\n".utf8))
            expected += "\(self.digest(content))  \(self.url)\(self.digest(source))  \(source)\n"
            process.waitForOutput(expected.utf8.count)
        }
        process.closeInput()
        expect(process.finish(), prints: expected)
    }

    @Test func aClosedOutputEndsItBeforeTheNextSource() throws {
        let process = try Launch("job", "put", self.url, "--from-file", "-").start()
        process.closeOutput()
        process.write(Array(self.sources.map { $0 + "\n" }.joined().utf8))
        process.closeInput()
        let outcome = process.finish()
        #expect(outcome.ending != .status(0) && outcome.ending != .status(1), "\(outcome.errorText)")
        #expect(self.store.names == [self.digest(self.sources[0])])
    }

    @Test(arguments: [["http://127.0.0.1:1/x", "a"], ["http://127.0.0.1:1/"], ["s3://bucket", "a"]])
    func whatCannotBeStoredUnderKeysIsRefused(_ arguments: [String]) throws {
        expect(try Launch(["job", "put"] + arguments).run(), failsWith: "invalidArgument", 64)
    }

    @Test func aServerThatIsNotThereFailsEachSource() throws {
        let (source, other) = (self.sources[0], self.sources[1])
        let (outcome, lines) = try self.put("--json", "--retry", "0", "http://127.0.0.1:1/", source, other)
        #expect(outcome.ending == .status(1) && lines.map(\.error?.isTransient) == [true, true])
    }
}
#endif
