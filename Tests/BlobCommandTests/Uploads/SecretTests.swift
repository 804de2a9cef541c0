#if Command
import BlobCore
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Errors of every command that takes URLs, with a secret in each place that may have one: nothing that `blob` prints
/// has it, whatever a server repeats.
///
/// Results are not errors: `blob sum` prints names as they were given.
@Suite(.timeLimit(.minutes(5))) struct SecretTests {
    private static let caseCount = 220
    private static let threadCount = 8

    /// A command with its place for a URL, or for options and a URL.
    private static let reads = [
        "cat $URL", "cat -v $URL", "cat -o $FOLDER/out $URL", "cat --verify-first $URL",
        "cat --offset 3 --length 4 $URL",
        "cat --retry 1 --resume --idle-timeout 5 -v $URL", "cat $URL $URL", "cat -z -v $URL", "ls $URL",
        "ls --json -v $URL",
        "info $URL", "info --json -v $URL", "sum -v $URL#none", "sum -a md5 $URL#@7", "extract -v -C $FOLDER/x $URL",
        "extract -C $FOLDER/x $URL#a/*", "index build -v --output $FOLDER/i gzip+$URL", "index show gzip+$URL",
        "index verify -v gzip+$URL", "job splits -v gzip+$URL", "index remove $URL", "form -F f=@$URL",
        "form -F f=<$URL",
        "check $URL", "upload -v $URL $OK/", "upload $URL $URL $OK/", "upload -F f=@$URL -v $OK", "put $OK/ $URL",
        "put --json -v $OK/ $URL",
        "cat --password-file $URL -v x.zip", "upload --password-file $URL $FILE $OK", "sum -c $URL",
        "cat --from-file $URL",
        "cat tar+gzip+$URL#@0", "cat -v $URL#a!b", "cat --ranges $URL -v $FILE",
    ]

    /// Commands whose standard input is a list with the URL.
    private static let lists = [
        "cat -v --from-file -", "sum --from-file -", "upload --from-file - $OK/", "put --json --from-file - $OK/",
        "put -v --from-file - $OK/", "sum -c -",
    ]

    private static let sends = [
        "upload $FILE $URL", "upload -v $FILE $URL", "upload -v -F a=b $URL", "upload -L -v $FILE $URL",
        "upload -v -w %{http_code}%{url_effective} $FILE $URL", "upload --retry 1 --max-time 3 -v $FILE $URL",
        "upload --resumable tus --retry 1 --max-time 3 --state $FOLDER/s -v $FILE $URL",
        "upload -v --content-encoding gzip $FILE $URL",
        "upload --resumable draft --retry 1 --max-time 3 --state $FOLDER/s -v $FILE $URL",
        "upload --skip-existing -v $FILE $URL",
        "upload --journal $FOLDER/journal $FILE $FILE2 $URL/", "put --json --retry 0 -v $URL/ $FILE",
        "put --retry 0 -v $URL/ $FILE", "put --json --retry 1 --max-time 3 $URL/ $FILE",
    ]

    private static let stores = [
        "cat -v $S3", "info --json $S3", "ls -v $S3", "upload --max-time 3 -v $FILE $S3",
        "put --retry 0 --json $S3/ $FILE",
        "upload -v -F a=b --max-time 3 $S3", "extract -C $FOLDER/x $S3#a",
    ]

    /// Mistakes in the arguments.
    private static let usages = [
        "ls $URL $URL", "cat --bogus $URL", "upload $URL", "upload $FILE $WRONG", "cat --offset $URL x",
        "info -u $SECRET x",
        "info -H $SECRET x", "library create $URL", "library create -u a:$SECRET", "library create -HX:$SECRET",
        "put $URL $FILE",
        "cat -F a=b;$SECRET $URL", "form -F $SECRET", "form -F a=b;$SECRET", "form -F f=@$URL;typ=$SECRET",
        "index $URL",
        "$URL", "cat x --limit-rate $URL", "upload $FILE $FILE2 $URL", "upload --state $FOLDER/s $FILE $URL",
        "receive --listen $URL",
    ]

    /// The paths at which the server does what they say; it repeats what it was sent in the heads of its answers, and in
    /// the bodies of those that are no content.
    private static let paths =
        [400, 401, 403, 404, 407, 409, 410, 412, 413, 416, 418, 429, 451, 500, 501, 503].map { "status/\($0)" }
        + ["cut", "nothing", "garbage", "range", "ok", "length", "fields", "digest", "coding"]
        + ["loop", "elsewhere", "ftp", "echo", "userinfo", "empty", "broken"].map { "redirect/\($0)" }

    private struct Case: Sendable {
        let arguments: [String]
        let input: [UInt8]
        let prelude: String
        let secrets: [String]
        var name: String { self.arguments.map { $0.count > 200 ? "\($0.prefix(200))..." : $0 }.joined(separator: " ") }
    }

    private let folder: TemporaryFolder
    private let server: RecordingServer

    init() throws {
        self.folder = try TemporaryFolder()
        self.server = try RecordingServer(Self.answer)
        try self.folder.write(Array("some bytes\n".utf8), to: "file")
        try self.folder.write(Array("other bytes\n".utf8), to: "file2")
    }

    private static func answer(_ request: RecordingServer.Request) -> [UInt8] {
        // As frameworks do that explain what they did not find.
        let echo = Array("Cannot \(request.head.replacing("\r\n", with: " "))".utf8)
        let content = Array("these are bytes".utf8)
        let query = request.target.drop { $0 != "?" }.dropFirst()
        let parts = request.target.prefix { $0 != "?" }.split(separator: "/")
        let last = parts.first == "bucket" || parts.count < 2 ? "404" : String(parts[1])
        switch (parts.first, last) {
        case ("status", let status):
            return RecordingServer.answer("\(status) No \(query)", ["WWW-Authenticate: Basic"], echo)
        case ("redirect", "loop"): return redirect(request.target)
        case ("redirect", "elsewhere"): return redirect("http://127.0.0.1:1/x?\(query)")
        case ("redirect", "ftp"): return redirect("ftp://127.0.0.1/x?\(query)")
        case ("redirect", "echo"): return redirect("/status/404?next=\(query)#\(query)")
        case ("redirect", "userinfo"): return redirect("http://a:\(query.prefix(30))@127.0.0.1:1/")
        case ("redirect", "empty"): return redirect("")
        case ("redirect", _): return redirect("http://[::1/\(query)")
        case ("cut", _):
            return Array(
                "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: \"a\"\r\nX-Query: \(query)\r\n\r\ncontent".utf8)
        case ("nothing", _): return []
        case ("garbage", _): return Array("SSH-2.0-\(query)\r\n\r\n".utf8)
        case ("range", _):
            return RecordingServer.answer("206 Partial Content", ["Content-Range: bytes 7-9/\(query)"], content)
        case ("length", _): return Array("HTTP/1.1 200 OK\r\nContent-Length: \(query)\r\n\r\n".utf8)
        case ("fields", _):
            return RecordingServer.answer("200 OK", (0..<200).map { "X-\($0): \(query)" }, content)
        case ("digest", _):
            return RecordingServer.answer(
                "200 OK", ["Content-Encoding: \(query)", "Repr-Digest: sha-256=:AAAA:"], content)
        case ("coding", _): return RecordingServer.answer("200 OK", ["Transfer-Encoding: \(query.prefix(60))"], content)
        case ("ok", _): return RecordingServer.answer("200 OK", ["ETag: \"a\""], content)
        case ("bucket", _):
            let message =
                Array("<Error><Code>AccessDenied</Code><Message>".utf8) + echo + Array("</Message></Error>".utf8)
            return RecordingServer.answer("403 Forbidden", ["Content-Type: application/xml"], message)
        default: return RecordingServer.answer("404 Not Found", [], echo)
        }
    }

    private static func redirect(_ location: String) -> [UInt8] {
        RecordingServer.answer("307 Temporary Redirect", ["Location: \(location)"])
    }

    /// Returns a case, which is the same for the same numbers.
    private func makeCase(_ number: Int, _ random: inout SplitMix64, tls: UInt16) -> Case {
        var secrets: [String] = []
        func secret() -> String {
            let digits = Array("abcdefghijklmnopqrstuvwxyz0123456789")
            let text = "s3k" + String((0..<14).map { _ in digits.randomElement(using: &random) ?? "x" })
            secrets.append(text)
            return text
        }
        func chance(_ denominator: Int) -> Bool { Int.random(in: 0..<denominator, using: &random) == 0 }
        let user = chance(4) ? "" : chance(3) ? "\(secret())@" : "\(secret()):\(secret())@"
        var query = "?X-Amz-Signature=\(secret())&\(secret())"
        if chance(4) { query += "&escaped=%41\(secret())%2f" }
        if chance(40) { query += String(repeating: "&long=\(secret())", count: 3000) }
        let local = "127.0.0.1:\(self.server.port)"
        let others = [
            "http://\(user)127.0.0.1:1", "https://\(user)\(local)", "https://\(user)127.0.0.1:\(tls)",
            "http://\(user)ho st", "http://\(user)[::1", "http://\(user)127.0.0.1:99999", "htp://\(user)\(local)",
            "http:///\(user)", "http://u:\(secret())/\(secret())@\(local)", "http://\(secret())%zz@\(local)",
            "http://\(user)127.0.0.1\u{1B}[31m:1", "http:\(user)\(local)",
            number % 50 == 7 ? "http://\(user)nowhere.invalid" : "http://\(user)127.0.0.1:1",
        ]
        let place = chance(3) ? others.randomElement(using: &random) ?? "" : "http://\(user)\(local)"
        let path = Self.paths.randomElement(using: &random) ?? ""
        let groups = [(Self.reads, 9), (Self.sends, 7), (Self.lists, 2), (Self.stores, 2), (Self.usages, 4)]
        let all = groups.flatMap { group, weight in Array(repeating: group, count: weight) }
        let group = all[number % all.count]
        let template = group[number / all.count % group.count]
        // Of a URL that is sent to, a fragment has no meaning; of one that is read, it names a member.
        let fragment = group == Self.sends && chance(3) ? "#\(secret())" : ""

        var options: [String] = []
        if chance(2) { options += ["-H", "Authorization: Bearer \(secret())"] }
        if chance(3) { options += ["-HCookie: a=\(secret()); b=\(secret())"] }
        if group == Self.stores {
            let endpoints = [
                "http://\(secret()):\(secret())@\(local)/", "http://\(local)/?\(secret())", "http://\(local)",
            ]
            options += ["--endpoint-url", endpoints.randomElement(using: &random) ?? ""]
        } else {
            if chance(4) { options += ["-u", "\(secret()):\(secret())"] }
            let proxies = [
                "http://\(secret()):\(secret())@127.0.0.1:1", "http://\(secret()):\(secret())@\(local)",
                "socks9://a:\(secret())@\(local)", "http://a:\(secret())@[::1:1",
            ]
            if chance(6) { options += ["-x", proxies.randomElement(using: &random) ?? ""] }
        }
        if group == Self.lists, chance(2) { options.append("--allow-network-in-lists") }
        // What is logged of layers and requests is also in spans and metrics.
        if chance(2) { options += ["--log-level", "trace", "--log-format", chance(2) ? "json" : "text"] }
        if group == Self.usages { options = [] }

        let places = [
            ("$URL/", "\(place)/\(path)/\(query)\(fragment)"), ("$URL", "\(place)/\(path)\(query)\(fragment)"),
            ("$S3", "s3://bucket/key"), ("$FOLDER", self.folder.path("\(number)")),
            ("$FILE2", self.folder.path("file2")),
            ("$FILE", self.folder.path("file")), ("$OK", "http://\(local)/ok"), ("$WRONG", "localhost/x\(query)"),
            ("$SECRET", secret()),
        ]
        // Not split afterwards: a URL may have a space in it.
        var words = template.split(separator: " ").map { word in
            places.reduce(String(word)) { $0.replacing($1.0, with: $1.1) }
        }
        words.insert(contentsOf: options, at: words[0] == "index" ? 2 : 1)
        let name = "\(place)/\(path)\(query)"
        let line = template == "sum -c -" ? String(repeating: "0", count: 64) + "  \(name)" : name
        let home = self.folder.path("\(number)")
        let keys = "AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=\(secret()) AWS_SESSION_TOKEN=\(secret())"
        return Case(
            arguments: words, input: group == Self.lists ? Array("\(line)\n".utf8) : [],
            prelude: "mkdir -p \(home) && cd \(home); export HOME=\(home) \(keys)", secrets: secrets)
    }

    @Test func noErrorHasASecret() throws {
        let seed = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let certified = try PythonServer(.filesOverTLS(self.folder.path))
        let cases = (0..<Self.caseCount).map { self.makeCase($0, &random, tls: certified.port) }
        let (next, findings) = (Locked(0), Locked<[String]>([]))
        let failureCount = Locked(0)
        DispatchQueue.concurrentPerform(iterations: Self.threadCount) { _ in
            while true {
                let number = next.withLock { next in
                    next += 1
                    return next - 1
                }
                guard number < cases.count else { return }
                let one = cases[number]
                guard
                    let outcome = try? Launch(one.arguments).with({ $0.prelude = one.prelude }).run(input: one.input)
                else {
                    findings.withLock { $0.append("\(one.name): did not start") }
                    continue
                }
                if outcome.ending != .status(0) { failureCount.withLock { $0 += 1 } }
                let printed = outcome.text + outcome.errorText
                if case .signal = outcome.ending {
                    findings.withLock { $0.append("\(one.name)\n  was killed:\n\(printed)") }
                }
                for secret in one.secrets where printed.lowercased().contains(secret) {
                    findings.withLock { $0.append("\(one.name)\n  has \(secret):\n\(printed)") }
                    break
                }
            }
        }
        #expect(findings.withLock { $0 } == [], "seed \(seed)")
        #expect(failureCount.withLock { $0 } > Self.caseCount * 3 / 4, "Most of them are errors; seed \(seed).")
        print("The seed of the secrets: \(seed)")
    }
}
#endif
