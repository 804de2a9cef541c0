#if Receiver && Photos
import BlobReceiving
import BlobTestSupport
import Foundation
import Testing

@testable import AssetPicker

@Suite struct PickerSessionTests {
    private let session = PickerSession(port: 4321)

    private func admits(
        _ method: String = "GET", host: String? = "127.0.0.1:4321", _ fields: [(String, String)] = []
    ) -> Bool {
        let fields = (host.map { [("Host", $0)] } ?? []) + fields
        return self.session.admits(RequestHead(method: method, target: "/", fields: fields))
    }

    @Test func thePageAndItsRequestsAreAdmitted() {
        #expect(self.admits())
        #expect(self.admits("GET", [("Sec-Fetch-Site", "none")]))
        let own = [("Origin", "http://127.0.0.1:4321"), ("Sec-Fetch-Site", "same-origin")]
        #expect(self.admits("POST", own))
        #expect(self.admits("GET", own))
    }

    @Test(arguments: [nil, "localhost:4321", "evil.example:4321", "127.0.0.1", "127.0.0.1:4322", "127.0.0.1:4321."])
    func anotherHostIsNotAdmitted(_ host: String?) { #expect(!self.admits(host: host)) }

    @Test func twoHostsAreNotAdmitted() { #expect(!self.admits("GET", [("Host", "127.0.0.1:4321")])) }

    @Test(arguments: ["null", "http://evil.example", "http://127.0.0.1:4322", "https://127.0.0.1:4321", ""])
    func anotherOriginIsNotAdmitted(_ origin: String) {
        #expect(!self.admits("GET", [("Origin", origin)]))
        #expect(!self.admits("POST", [("Origin", origin)]))
    }

    @Test func aChangeNeedsAnOrigin() {
        #expect(!self.admits("POST"))
        #expect(!self.admits("DELETE"))
    }

    @Test(arguments: ["cross-site", "same-site"])
    func aRequestOfAnotherSiteIsNotAdmitted(_ site: String) { #expect(!self.admits("GET", [("Sec-Fetch-Site", site)])) }

    @Test func onlyTheTokenLeadsToAPath() {
        let token = self.session.token
        #expect(token.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        #expect(self.session.path(in: "/\(token)/assets?from=0") == "assets?from=0")
        #expect(self.session.path(in: "/\(token)/") == "")
        for count in 0..<token.count { #expect(self.session.path(in: "/\(token.prefix(count))/") == nil) }
        for uri in ["", "/", "//", "/\(token)", "/\(token)0/", token + "/", "/x/\(token)/", "http://a/\(token)/"] {
            #expect(self.session.path(in: uri) == nil, "\(uri)")
        }
        for index in token.indices {
            var wrong = token
            wrong.replaceSubrange(index...index, with: token[index] == "0" ? "1" : "0")
            #expect(self.session.path(in: "/\(wrong)/") == nil)
        }
        #expect(PickerSession().token != PickerSession().token)
    }

    @Test func aSessionIsKeptForItsOwnerAlone() throws {
        let folder = try TemporaryFolder()
        // A token of 64 digits from an earlier version is still valid.
        let token = String(repeating: "0123456789abcdef", count: 4)
        try folder.write("{\"token\":\"\(token)\",\"port\":4321}", to: "session.json")
        #expect(PickerSession.load(from: folder.url("")).path(in: "/\(token)/assets") == "assets")
        try self.session.store(in: folder.url(""))
        #expect(PickerSession.load(from: folder.url("")) == self.session)
        #expect(try folder.mode("session.json") & 0o777 == 0o600)
        // Killed before the session was written.
        try folder.write("", to: "session.json")
        #expect(PickerSession.load(from: folder.url("")).port == 0)
    }
}
#endif
