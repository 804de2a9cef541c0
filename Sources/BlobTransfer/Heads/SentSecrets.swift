package import BlobCore
import BlobPlatform

/// The secrets of a request, which servers and libraries may repeat in their messages.
package struct SentSecrets {
    /// The minimum length in bytes of a secret; shorter values may occur in any text.
    private static let minimumByteCount = 4

    /// The prefixes of field names whose values are not secret. They describe a body and often appear in refusals.
    private static let plainFields = ["accept", "content-", "if-", "range", "tus-", "upload-", "user-agent"]

    private var texts: Set<String> = []

    /// The environment variables from which libcurl reads a proxy.
    private static let proxyVariables = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// - Parameters:
    ///   - urls: The original URL, and the URL reached by redirections.
    ///   - credentials: The credentials in the URL, if the URL is passed without them.
    package init(
        _ urls: [String], _ fields: [BlobHTTPField], _ settings: BlobTransferSettings,
        _ credentials: BlobTransferSettings.Credentials? = nil
    ) {
        let environment = ProcessInfo.processInfo.environment
        for url in urls + [settings.proxy ?? ""] + Self.proxyVariables.compactMap({ environment[$0] }) {
            self.add(url: url)
        }
        for case let known? in [settings.credentials, credentials] { self.add(known.user, known.password) }
        for field in fields where !Self.plainFields.contains(where: field.name.lowercased().hasPrefix) {
            self.add(field.value)
            for part in field.value.split(whereSeparator: { " \t;,".contains($0) }) {
                self.add(part)
                // The value of a cookie or parameter.
                if let equals = part.firstIndex(of: "=") { self.add(part[part.index(after: equals)...]) }
            }
        }
    }

    /// Returns text from a server or a library, with each secret replaced by `***`.
    package func removed(from text: String) -> String {
        // The longest secret first, because a secret may contain another one.
        self.texts.sorted { $0.utf8.count > $1.utf8.count }.reduce(text) { $0.replacing($1, with: "***") }
    }

    /// Returns an error with the secrets removed from its message.
    package func removed(from error: BlobError) -> BlobError {
        let message = self.removed(from: error.message)
        return message == error.message ? error : error.replacingMessage(message)
    }

    private mutating func add(url: String) {
        let base = url.prefix { $0 != "#" }
        if let mark = base.firstIndex(of: "?") {
            let query = base[base.index(after: mark)...]
            self.add(query)
            for parameter in query.split(separator: "&") {
                let equals = parameter.firstIndex(of: "=")
                self.add(parameter[(equals.map(parameter.index(after:)) ?? parameter.startIndex)...])
            }
        }
        if url.count > base.count { self.add(url[base.endIndex...].dropFirst()) }
        let rest = base.firstRange(of: "://").map { base[$0.upperBound...] } ?? base
        guard let at = rest.prefix(while: { $0 != "/" && $0 != "?" }).lastIndex(of: "@") else { return }
        let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        for part in parts { self.add(part) }
        let decoded = parts.map { PercentEncoding.decode($0.utf8).map { String(decoding: $0, as: UTF8.self) } ?? "" }
        self.add(decoded.first ?? "", decoded.dropFirst().first ?? "")
    }

    /// Adds a user and a password, both plain and in the encoded form that is sent.
    private mutating func add(_ user: String, _ password: String) {
        for text in [user, password, Data("\(user):\(password)".utf8).base64EncodedString()] { self.add(text) }
    }

    private mutating func add(_ text: some StringProtocol) {
        for text in [String(text), PercentEncoding.decode(text.utf8).map { String(decoding: $0, as: UTF8.self) } ?? ""]
        where text.utf8.count >= Self.minimumByteCount {
            self.texts.insert(text)
        }
    }
}
