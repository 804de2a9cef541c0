#if Command
import BlobCore
import BlobStreamsStandard
import BlobTransfer

/// A list of files with their digests and URLs (RFC 5854).
enum Metalink {
    private static let namespace = "urn:ietf:params:xml:ns:metalink"
    /// The priority of a URL that does not state one (section 4.2.16.1).
    private static let lowestPriority = 999_999

    /// Returns the files that a document lists.
    ///
    /// - Parameter list: The name of the document, for errors.
    /// - Throws: ``BlobError/Code/corrupted`` if the document is not a valid Metalink; ``BlobError/Code/unsupported``
    ///   for a name that contains folders and for a file without a URL; ``BlobError/Code/limitExceeded`` for a document
    ///   that exceeds the parser's limits.
    static func files(in document: [UInt8], named list: String) throws(BlobError) -> [Fetch.Item] {
        let root = try MarkupElement.parse(document)
        guard root.name == name("metalink") else {
            throw BlobError(.corrupted, "\(list) is not a Metalink document (RFC 5854).")
        }
        return try root.children.filter { $0.name == name("file") }.map { file throws(BlobError) in
            let fileName = value("name", of: file) ?? ""
            guard !fileName.isEmpty, fileName != ".", fileName != "..",
                !fileName.utf8.contains(where: { $0 == 0x2F || $0 == 0 })
            else {
                throw BlobError(
                    .unsupported,
                    "\(list) contains the file name '\(fileName)', but only names without folders are supported.")
            }
            let urls = elements("url", of: file).sorted { priority($0) < priority($1) }.map(\.trimmedText)
            guard !urls.isEmpty else {
                throw BlobError(.unsupported, "\(list) does not contain a URL for '\(fileName)'.")
            }
            let digests = try elements("hash", of: file).map { hash throws(BlobError) in
                try digest(hash, origin: list)
            }
            let byteCount = elements("size", of: file).first.flatMap { Int64($0.trimmedText) }
            return Fetch.Item(
                arguments: urls, name: fileName, byteCount: byteCount, digests: digests.compactMap(\.self))
        }
    }

    /// Returns the digest in an element; nil if its algorithm is unknown.
    private static func digest(_ hash: MarkupElement, origin: String) throws(BlobError) -> BlobStatedDigest? {
        let type = value("type", of: hash)?.lowercased() ?? ""
        guard let algorithm = StatedAlgorithm(rawValue: type.filter { $0 != "-" }) else { return nil }
        guard let value = [UInt8](hexadecimal: hash.trimmedText.utf8), value.count == algorithm.byteCount else {
            throw BlobError(.corrupted, "\(origin) contains an invalid hexadecimal \(algorithm.title) digest.")
        }
        return BlobStatedDigest(algorithm.rawValue, value, origin: origin)
    }

    private static func priority(_ url: MarkupElement) -> Int {
        value("priority", of: url).flatMap { Int($0) } ?? Self.lowestPriority
    }

    private static func name(_ local: String) -> MarkupElement.Name { .init(namespace: Self.namespace, local: local) }

    private static func elements(_ local: String, of element: MarkupElement) -> [MarkupElement] {
        element.children.filter { $0.name == name(local) }
    }

    private static func value(_ attribute: String, of element: MarkupElement) -> String? {
        element.attributes.first { $0.name == .init(namespace: "", local: attribute) }?.value
    }
}
#endif
