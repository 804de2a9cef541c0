#if Receiver && Photos
import Foundation
import NIOHTTP1

/// The address of the page, and the secret that it contains.
struct PickerSession: Codable, Equatable, Sendable {
    /// The secret, 64 hexadecimal digits.
    let token: String
    /// The port on 127.0.0.1; 0 until the system has chosen one.
    var port: Int

    init(port: Int = 0) {
        let words = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }
        self.token = words.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
        self.port = port
    }

    var origin: String { "http://127.0.0.1:\(self.port)" }

    var url: String { "\(self.origin)/\(self.token)/" }

    /// Returns the path that follows the token in a URI; nil for another token.
    ///
    /// - Complexity: The time is the same for every token of the same length.
    func path(in uri: String) -> Substring? {
        let parts = uri.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[1].utf8.count == self.token.utf8.count else { return nil }
        let difference = zip(parts[1].utf8, self.token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 ? parts[2] : nil
    }

    /// Returns true for a request from the page itself, or from a user who entered its address.
    ///
    /// A page from another site has another origin. If its host name was made to resolve to this machine, `Host`
    /// differs.
    func admits(_ head: HTTPRequestHead) -> Bool {
        let (origins, sites) = (head.headers["origin"], head.headers["sec-fetch-site"])
        return head.headers["host"] == ["127.0.0.1:\(self.port)"]
            && (origins == [self.origin] || origins.isEmpty && head.method == .GET)
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
