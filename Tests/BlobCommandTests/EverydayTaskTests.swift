#if Command
import BlobTestSupport
import Foundation
import Testing

/// The tasks that people try first, each on a real terminal and at the first try.
@Suite(.enabled(if: isLinux)) struct EverydayTaskTests {
    /// A task, the commands that people type for it, and what they see then.
    struct Task: CustomStringConvertible {
        let description: String
        let commands: String
        let sees: [String]
        var status: CInt = 0

        init(_ description: String, _ commands: String, sees: String..., status: CInt = 0) {
            (self.description, self.commands, self.sees, self.status) = (description, commands, sees, status)
        }
    }

    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        let script = """
            mkdir -p site/sub && echo '{"a":1}' > site/a.json && echo '{"b":2}' > site/b.json \
            && echo '<p>' > site/index.html && echo deep > site/sub/deep.txt && tar czf site.tgz site \
            && tar czf dotted.tgz ./site && echo inner > member && tar cf inner.tar member && tar czf outer.tgz inner.tar \
            && seq 1000 > log && gzip -k log && head -c 100 log.gz > cut.gz && seq 200000 > big && gzip -k big
            """
        try self.folder.run("sh", "-c", script)
        try self.folder.write(Self.server, to: "server.py")
    }

    /// Serves `big` with ranges, and prints its address; loses its first connection for more than 500,000 bytes.
    private static let server = """
        import http.server, re
        class Handler(http.server.BaseHTTPRequestHandler):
            lost = False
            def do_GET(self):
                data = open('big', 'rb').read()
                first, last = re.match('bytes=([0-9]+)-([0-9]*)', self.headers.get('Range', 'bytes=0-')).groups()
                part = data[int(first):int(last) + 1 if last else None]
                self.send_response(206)
                self.send_header('ETag', '"1"')
                self.send_header('Content-Range', f'bytes {first}-{int(first) + len(part) - 1}/{len(data)}')
                self.send_header('Content-Length', str(len(part)))
                self.end_headers()
                if len(part) > 500000 and not Handler.lost:
                    Handler.lost, part = True, part[:400000]
                self.wfile.write(part)
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        print(f'http://127.0.0.1:{server.server_port}/big', flush=True)
        server.serve_forever()
        """

    /// Begins commands with a server, which prints its address: that is in `$URL`.
    private static func with(_ server: String, _ commands: String) -> String {
        "\(server) > url & until grep -q http url || ! kill -0 $!; do :; done; URL=$(head -n 1 url); \(commands); kill $!"
    }

    static let tasks = [
        Task("list an archive", "blob ls site.tgz", sees: "site/index.html", "site/sub/deep.txt"),
        Task("list with details", "blob ls -l --human site.tgz", sees: " 8 B ", "-rw"),
        Task("count the members", "blob ls site.tgz | wc -l", sees: "6"),
        Task("print a member", "blob cat 'site.tgz#site/index.html'", sees: "<p>"),
        Task("print a member without its dot", "blob cat 'dotted.tgz#site/index.html'", sees: "<p>"),
        Task("print a nested member", "blob cat 'outer.tgz#inner.tar!/member'", sees: "inner"),
        Task("print a nested member with two marks", "blob cat 'outer.tgz#inner.tar#member'", sees: "inner"),
        Task("print a member of no archive", "blob cat 'site.tgz#site/a.json#x'", sees: "No member", status: 66),
        Task("print members by a pattern", "blob cat 'site.tgz#site/*.json'", sees: "{\"a\":1}", "{\"b\":2}"),
        Task("print the decoded bytes", "blob cat -z log.gz | tail -n 1", sees: "1000"),
        Task("read a pipe", "cat log.gz | blob cat -z | head -n 2", sees: "1", "2"),
        Task("read a member of a pipe", "cat site.tgz | blob cat '-#site/index.html'", sees: "<p>"),
        Task("print a part", "blob cat log --offset 3k --length 5 | wc -c", sees: "5"),
        Task("a digest", "blob sum log", sees: "67d4ff71d43921d5739f387da09746f405e425b07d727e4c69d029461d1f051f  log"),
        Task("digests and their check", "blob sum 'site.tgz#**' > SUMS; blob sum -c SUMS", sees: "deep.txt: OK"),
        Task("a list of sha256sum", "sha256sum log big | blob sum -c", sees: "log: OK", "big: OK"),
        Task("damage", "blob cat -z cut.gz > /dev/null", sees: "blob: truncated: ", status: 65),
        Task("the format of a file", "blob info site.tgz", sees: "content: tar in gzip"),
        Task("no archive", "blob ls log.gz", sees: "This is gzip, not an archive", "blob cat -z", status: 65),
        Task("a missing file among others", "blob cat none site/index.html", sees: "none", "<p>", status: 66),
        Task("extract an archive", "blob extract site.tgz -C out; cat out/site/index.html", sees: "<p>"),
        Task(
            "extract some of a nested one", "blob extract outer.tgz#inner.tar 'm*' -C out; cat out/member",
            sees: "inner"),
        Task("extract from a pipe", "cat site.tgz | blob extract - '**/*.txt' -C out; ls out/site", sees: "sub"),
        Task("members of a pipe", "cat site.tgz | blob cat '-#site/*.json'", sees: "{\"a\":1}", "{\"b\":2}"),
        Task("complete a word", "blob complete -- cat --of", sees: "--offset"),
        Task("silence", "blob cat -q big > copy; cmp big copy && echo same", sees: "same"),
        Task("a form", "blob form -F 'photos=@site' | grep -c filename=", sees: "4"),
        Task("the version", "blob --version", sees: "."),
        Task("help", "blob help cat", sees: "USAGE: blob cat"),
        Task("help about locators", "blob help locators", sees: "backup.tgz#etc/hosts"),
        Task("a typo in a command", "blob cta log", sees: "Did you mean 'cat'?", status: 64),
        Task("a typo in an option", "blob cat --ofset 3 log", sees: "Did you mean '--offset'?", status: 64),
        Task("an extension for a wrapper", "blob cat gz+log.gz", sees: "Did you mean 'gzip+log.gz'?", status: 66),
        Task("a typo in a wrapper", "blob cat gzpi+log.gz", sees: "Did you mean 'gzip+log.gz'?", status: 66),
        Task("a typo in a member", "blob cat 'site.tgz#site/indx.html'", sees: "'site/index.html'", status: 66),
    ]

    static let webTasks = [
        Task(
            "upload a folder",
            Self.with("\"$0\" receive --directory got", "blob upload site/ $URL; cat got/deep.txt"),
            sees: "  site/index.html", "deep"),
        Task(
            "resume a download",
            Self.with("python3 server.py", "blob cat --resume $URL -o got; cmp got big && echo the same"),
            sees: "trying again, 1 of 5", "the same"),
    ]

    @Test(arguments: tasks + webTasks) func theTaskIsDoneAtTheFirstTry(task: Task) throws {
        let terminal = try Terminal()
        let script = "blob() { \"$0\" \"$@\"; }; cd '\(self.folder.path)'; \(task.commands)"
        let outcome = try Launch("-c", script, Launch.blob).with {
            $0.program = "/bin/sh"
            ($0.output, $0.errors) = (.file(terminal.theirs), .file(terminal.theirs))
        }.run()
        // Its name is drawn, and may look like a rate.
        let screen = terminal.screen.joined(separator: "\n").replacing(self.folder.path, with: "FOLDER")
        #expect(outcome.ending == .status(task.status), "\(screen)")
        for text in task.sees { #expect(screen.contains(text), "\(screen)") }
        // Progress leaves nothing behind, unless another program writes on the same terminal.
        if !task.commands.contains("|") { #expect(!screen.contains("B/s"), "\(screen)") }
    }
}
#endif
