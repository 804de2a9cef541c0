import BlobCore

/// Parses URLs, of which many may differ in their last component only: libcurl parses the rest once.
struct TransferURLParser {
    private static let slash = UInt8(ascii: "/")

    /// The characters that the last component of a path may have; behind the slash, none of them ends the path.
    private static let nameCharacters = PercentEncoding.pathCharacters.union("%".utf8)

    /// The URL up to its last slash, as it was given and as libcurl takes it.
    private(set) var folder: (text: String, url: TransferURL)?

    /// - Throws: See ``TransferURL/init(_:)``.
    mutating func url(_ text: String) throws(BlobError) -> TransferURL {
        let bytes = text.utf8
        guard let last = bytes.lastIndex(of: Self.slash) else { return try TransferURL(text) }
        let (base, name) = (bytes[...last], bytes[bytes.index(after: last)...])
        guard name.allSatisfy(Self.nameCharacters.contains) else { return try TransferURL(text) }
        if let folder, folder.text.utf8.elementsEqual(base) {
            return TransferURL(in: folder.url, name: Substring(name))
        }
        // In a query or a fragment, a slash separates nothing; the second of two may be that before the authority.
        let baseText = String(text[...last])
        guard !base.contains(where: { "?#".utf8.contains($0) }), base.dropLast().last != Self.slash,
            let url = try? TransferURL(baseText)
        else { return try TransferURL(text) }
        self.folder = (baseText, url)
        return TransferURL(in: url, name: Substring(name))
    }
}
