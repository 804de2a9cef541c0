#if Command
import BlobCore
import BlobTestSupport
import Foundation
import Testing

/// Each command that talks to several servers, with credentials for one of them: no other one sees anything of these.
///
/// The first server is the one with the credentials; the others have sources, lists and passwords.
@Suite struct ForeignServerTests {
    private static let archive = Data(
        base64Encoded: """
            UEsDBBQAAAAAAAAAIQCDFtyMAQAAAAEAAAABAAAAYXhQSwECFAMUAAAAAAAAACEAgxbcjAEAAAABAAAAAQAAAAAAAAAAAAAAgAEAAAAAYVBL\
            BQYAAAAAAQABAC8AAAAgAAAAAAA=
            """)
    private static let compressed = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==")

    private let folder: TemporaryFolder
    private let servers: [RecordingServer]

    init() throws {
        self.folder = try TemporaryFolder()
        let ports = Locked<[UInt16]>([])
        self.servers = try (0..<3).map { _ in try RecordingServer { Self.answer($0, ports.withLock { $0 }) } }
        let all = self.servers.map(\.port)
        ports.withLock { $0 = all }
    }

    private static func answer(_ request: RecordingServer.Request, _ ports: [UInt16]) -> [UInt8] {
        let path = request.target.prefix { $0 != "?" }
        switch (request.method, path.split(separator: "/").last ?? "") {
        case (_, "away"): return redirect("302 Found", "http://127.0.0.1:\(ports[1])/x")
        case (_, "moved"): return redirect("307 Temporary Redirect", "http://127.0.0.1:\(ports[1])/x")
        case (_, "files"):
            let length = request.value(of: "upload-length") ?? "0"
            return RecordingServer.answer(
                "201 Created", ["Location: /file-\(length)", "Tus-Resumable: 1.0.0", "Upload-Offset: 0"])
        case ("HEAD", _): return RecordingServer.answer("404 Not Found")
        case ("PATCH", let name):
            return RecordingServer.answer(
                "204 No Content", ["Tus-Resumable: 1.0.0", "Upload-Offset: \(name.drop { $0 != "-" }.dropFirst())"])
        case ("GET", "x.zip"): return RecordingServer.answer("200 OK", ["ETag: \"a\""], Array(Self.archive ?? Data()))
        case ("GET", "x.gz"): return RecordingServer.answer("200 OK", ["ETag: \"b\""], Array(Self.compressed ?? Data()))
        case ("GET", "list"):
            return RecordingServer.answer("200 OK", [], Array("http://127.0.0.1:\(ports[2])/z\n".utf8))
        case ("GET", "sums"):
            let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
            return RecordingServer.answer("200 OK", [], Array("\(sum)  http://127.0.0.1:\(ports[2])/z\n".utf8))
        case ("GET", _): return RecordingServer.answer("200 OK", ["ETag: \"c\""], Array("x".utf8))
        default: return RecordingServer.answer("201 Created", ["ETag: \"9dd4e461268c8034f5c8564e155c67a6\""])
        }
    }

    private static func redirect(_ status: String, _ location: String) -> [UInt8] {
        RecordingServer.answer(status, ["Location: \(location)"])
    }

    /// The arguments of commands; `$A`, `$B` and `$C` are the servers, `$U` the first with a user and a password, and `$N`
    /// the first by its name.
    private static let commands = [
        // What an upload sends to its receiver.
        "upload $OPTIONS -F f=@$B/y -F g=<$C/z $A/up", "upload $OPTIONS $B/y $A/up",
        "upload $OPTIONS $B/y $C/z $A/dir/",
        "upload $OPTIONS --allow-network-in-lists --from-file $B/list $A/dir/",
        "upload $OPTIONS --password-file $B/pw $C/z $A/up",
        "upload $OPTIONS --password-file $B/pw $C/x.zip#a $A/up",
        "upload $OPTIONS --password-file $B/pw -F f=@$C/z $A/up",
        "upload $OPTIONS --resumable tus --state $FOLDER/tus $B/y $A/files",
        "upload $OPTIONS --resumable tus --state $FOLDER/form -F f=@$B/y $A/files",
        "upload $OPTIONS --skip-existing $B/y $A/dir/",
        "upload $OPTIONS -L $B/away $A/moved", "upload $OPTIONS -L --password-file $B/pw $C/z $A/moved",
        "upload $OPTIONS --journal $FOLDER/journal $B/y $C/z $A/dir/",
        "upload -HX-Key:hEaderSecret --endpoint-url $A $B/y s3://bucket/key",
        "job put -HX-Key:hEaderSecret --endpoint-url $A --password-file $B/pw s3://bucket/job/ $C/z",
        "upload --header-file $SHARED/fields --password-file $B/pw $A/x $C/up",
        "upload $OPTIONS --resumable draft --state $FOLDER/draft $B/y $A/files",
        "job put $OPTIONS $A/dir/ $B/y $C/z", "job put $OPTIONS --password-file $B/pw $A/dir/ $C/z",
        "job put $OPTIONS --json --allow-network-in-lists --from-file $B/list $A/dir/",
        // What a reading command sends to the server of its source.
        "cat $OPTIONS $A/away", "cat $OPTIONS --password-file $B/pw $A/x", "cat $U/x $B/y $C/z", "cat $U/away $C/z",
        "cat --allow-network-in-lists --from-file $B/list $U/x", "sum $U/x $B/y $C/z",
        "sum $OPTIONS --password-file $C/pw $A/away",
        "sum -c --allow-network-in-lists $U/sums $B/sums", "info $OPTIONS --password-file $B/pw $A/away",
        "ls $OPTIONS --password-file $B/pw $A/x.zip", "extract $OPTIONS --password-file $B/pw -C $FOLDER/out1 $A/x.zip",
        "extract $OPTIONS -C $FOLDER/out2 $A/away",
        "index build $OPTIONS --password-file $B/pw --output $FOLDER/i $A/x.gz",
        "index build $OPTIONS --output $FOLDER/j $A/away", "form $OPTIONS --password-file $B/pw -F f=@$A/away",
        "cat --netrc-file $SHARED/netrc $N/x $B/y", "cat --netrc-file $SHARED/netrc $N/away $C/z",
        "upload --netrc-file $SHARED/netrc --password-file $B/pw $C/z $N/up",
    ]

    /// The options change the settings of connections or not, and the second time the fields are in a file.
    private static let options = [
        "-u me:p4sswordSecret -HX-Key:hEaderSecret", "-x  -u me:p4sswordSecret -H @$SHARED/fields --connect-timeout 20",
    ]

    @Test(arguments: commands) func noServerSeesWhatIsForAnotherOne(command: String) throws {
        try self.folder.write(Array("X-Key: hEaderSecret\n".utf8), to: "fields")
        try self.folder.write(Array("machine localhost login me password p4sswordSecret\n".utf8), to: "netrc")
        let address = { (number: Int) in "127.0.0.1:\(self.servers[number].port)" }
        for (round, options) in Self.options.enumerated() where round == 0 || command.contains("$OPTIONS") {
            let before = self.servers.map(\.requests.count)
            let own = self.folder.path("\(round)")
            try self.folder.makeFolder("\(round)")
            let places = [
                ("$OPTIONS", options), ("$FOLDER", own), ("$SHARED", self.folder.path), ("$A", "http://\(address(0))"),
                ("$B", "http://\(address(1))"), ("$C", "http://\(address(2))"),
                ("$U", "http://me:p4sswordSecret@\(address(0))"), ("$N", "http://localhost:\(self.servers[0].port)"),
            ]
            let text = places.reduce(command) { $0.replacing($1.0, with: $1.1) }
            let arguments = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            let outcome = try Launch(arguments).with {
                $0.prelude = """
                    unset http_proxy all_proxy ALL_PROXY; export HOME=\(self.folder.path) \
                    AWS_ACCESS_KEY_ID=AKID AWS_SECRET_ACCESS_KEY=s3cret AWS_SESSION_TOKEN=tOkenSecret
                    """
            }.run()
            let seen = zip(self.servers, before).map { server, count in server.requests.dropFirst(count).map(\.head) }
            #expect(seen[0].contains(where: Self.hasSecret), "\(arguments): \(outcome.errorText) \(seen[0])")
            #expect(
                seen[1].count + seen[2].count > 0 || command.contains("moved"), "\(arguments): \(outcome.errorText)")
            for head in seen[1] + seen[2] {
                #expect(!Self.hasSecret(head), "\(arguments): \(head)")
                let lines = head.lowercased().split(separator: "\r\n").map { $0.prefix { $0 != ":" } }
                #expect(!lines.contains("authorization") && !lines.contains("proxy-authorization"), "\(head)")
            }
            #expect(!seen.joined().contains { $0.lowercased().contains("\r\ncookie:") }, "\(arguments): \(seen)")
        }
    }

    private static func hasSecret(_ head: String) -> Bool {
        let basic = Data("me:p4sswordSecret".utf8).base64EncodedString()
        return ["Secret", basic, "X-Key", "c00kie"].contains(where: head.contains)
    }
}
#endif
