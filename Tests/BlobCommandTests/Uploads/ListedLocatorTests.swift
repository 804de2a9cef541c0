#if Command
import BlobCore
import BlobTestSupport
import Foundation
import Testing

/// What the lines of a list name on servers.
@Suite struct ListedLocatorTests {
    private static let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

    private let folder: TemporaryFolder
    private let server: RecordingServer

    init() throws {
        self.folder = try TemporaryFolder()
        self.server = try RecordingServer { request in
            request.method == "GET"
                ? RecordingServer.answer("200 OK", ["ETag: \"a\""], Array("x".utf8))
                : RecordingServer.answer("201 Created", ["ETag: \"9dd4e461268c8034f5c8564e155c67a6\""])
        }
    }

    private var url: String { "http://127.0.0.1:\(self.server.port)" }

    private func run(_ arguments: [String], _ list: [String]) throws -> Outcome {
        try Launch(arguments).run(input: Array(list.map { $0 + "\n" }.joined().utf8))
    }

    /// The arguments of commands, with the beginning of each line of their lists.
    private var commands: [(arguments: [String], beginning: String)] {
        [
            (["cat", "--from-file", "-"], ""), (["cat", "--verify-first", "--from-file", "-"], ""),
            (["sum", "--from-file", "-"], ""), (["sum", "-c", "-"], "\(Self.sum)  "),
            (["upload", "--from-file", "-", "\(self.url)/to/"], ""),
            (["job", "put", "--from-file", "-", "\(self.url)/to/"], ""),
        ]
    }

    @Test func noCommandAsksAServerThatOnlyAListNames() throws {
        for (arguments, beginning) in self.commands {
            for scheme in ["http", "HTTP", "gzip+http", "tar+gzip+http", "archive+http"] {
                let locator = "\(self.url.replacing("http:", with: "\(scheme):"))/x?token=s3cret#*"
                let outcome = try self.run(arguments, ["", beginning + locator])
                let status: CInt = arguments[0] == "job" ? 1 : 64
                #expect(outcome.ending == .status(status), "\(arguments): \(outcome.errorText)")
                for part in ["Line 2 of the list", "'\(scheme.lowercased())'", "--allow-network-in-lists"] {
                    #expect(outcome.errorText.contains(part), "\(arguments): \(outcome.errorText)")
                }
                #expect(!(outcome.text + outcome.errorText).contains("s3cret"))
            }
        }
        #expect(self.server.requests.isEmpty, "\(self.server.requests)")
    }

    @Test func theOptionAllowsIt() throws {
        for (arguments, beginning) in self.commands {
            let before = self.server.requests.count { $0.method == "GET" && $0.target == "/x" }
            let outcome = try self.run(arguments + ["--allow-network-in-lists"], [beginning + "\(self.url)/x"])
            #expect(outcome.ending == .status(0), "\(arguments): \(outcome.errorText)")
            #expect(self.server.requests.count { $0.method == "GET" && $0.target == "/x" } > before, "\(arguments)")
        }
    }

    /// An engine reads the lines of standard output alone.
    @Test func aLineOfPutSaysIt() throws {
        let part = "{\"locator\":\"\(self.url)/x\",\"upload\":\"u\",\"part\":1,\"length\":1,\"bytes\":6000000,"
        let line = part + "\"part_size\":5242880,\"validator\":\"\\\"a\\\"\"}"
        for (arguments, entry) in [
            (["job", "put", "--json", "--from-file", "-", "\(self.url)/to/"], "\(self.url)/x"),
            (["job", "parts", "--json", "--endpoint-url", self.url, "--from-file", "-", "s3://b/"], line),
        ] {
            let outcome = try Launch(arguments).with {
                $0.prelude = "export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b"
            }.run(input: Array("\(entry)\n".utf8))
            #expect(outcome.ending == .status(1) && outcome.errorText.isEmpty, "\(outcome.errorText)")
            #expect(outcome.text.contains("\"state\":\"failed\"") && outcome.text.contains("--allow-network-in-lists"))
        }
        #expect(self.server.requests.isEmpty)
    }

    @Test func aStoreIsOnTheNetworkAndAFileIsNot() throws {
        let file = try self.folder.write("x", to: "file")
        expect(try self.run(["cat", "--from-file", "-"], [file, "file://\(file)"]), prints: "xx")
        expect(
            try self.run(["cat", "--from-file", "-"], [file, "s3://bucket/key"]), failsWith: "invalidArgument", 64,
            saying: "Line 2", "'s3'", after: Array("x".utf8))
        // What the command line names is not listed.
        expect(try self.run(["cat", "\(self.url)/x", "--from-file", "-"], [file]), prints: "xx")
    }
}
#endif
