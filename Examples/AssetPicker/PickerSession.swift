#if Receiver && Photos
import BlobReceiving
import Foundation

/// The address of the page, and the secret that it contains.
struct PickerSession: Codable, Equatable, Sendable {
    /// The secret in the path of the page.
    let token: String
    /// The port on 127.0.0.1; 0 until the system has chosen one.
    var port: Int

    init(port: Int = 0) {
        self.token = AccessToken().text
        self.port = port
    }

    var origin: String { "http://127.0.0.1:\(self.port)" }

    var url: String { "\(self.origin)/\(self.token)/" }

    /// Returns the path that follows the token in a URI; nil for another token.
    func path(in uri: String) -> Substring? { AccessToken(self.token).path(in: uri) }

    /// Returns true for a request from the page itself, or from a user who entered its address.
    ///
    /// A page from another site has another origin. If its host name was made to resolve to this machine, `Host`
    /// differs.
    func admits(_ head: RequestHead) -> Bool {
        let (origins, sites) = (head.values(of: "origin"), head.values(of: "sec-fetch-site"))
        return head.values(of: "host") == ["127.0.0.1:\(self.port)"]
            && (origins == [self.origin] || origins.isEmpty && head.method == "GET")
            && (sites.isEmpty || sites == ["same-origin"] || sites == ["none"])
    }

    // MARK: The file

    /// Returns the session of an earlier run, so that open pages keep working, or otherwise a new session.
    static func load(from folder: URL) -> PickerSession {
        let session = try? JSONDecoder().decode(PickerSession.self, from: Data(contentsOf: self.file(in: folder)))
        return session ?? PickerSession()
    }

    func store(in folder: URL) throws {
        let file = Self.file(in: folder)
        // Made readable only by its owner before the secret is written.
        _ = FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
        try JSONEncoder().encode(self).write(to: file)
    }

    private static func file(in folder: URL) -> URL { folder.appendingPathComponent("session.json") }
}
#endif
