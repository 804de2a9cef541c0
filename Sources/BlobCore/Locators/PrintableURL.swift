/// Returns a URL in the form used in messages: without its fragment, and with `***` in place of user and password and
/// of the query, any of which may be a secret.
///
///     https://user:password@host/path?signature=x#y    https://***@host/path?***
///
/// Accepts any text, such as a relative reference or text that is not a URL, and hides anything that may be a password.
/// A result of this function is returned unchanged.
public func printableURL(_ text: String) -> String {
    // Uploads of many files print each URL: a URL without these characters contains no secret.
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
    else { return text }
    return printableURL(Array(text.utf8)[...], keepingQuery: false)
}

/// Returns the text of a locator in the form of ``printableURL(_:)``, but with its selectors and, if its source is
/// local, with its query. A text that names no host, such as a path, is returned unchanged.
///
/// - Parameter isUnknown: True if the text before the colon is not a scheme, and may be the user of a URL without
///   one.
package func printableLocator(_ text: String, isUnknown: Bool = false) -> String {
    let bytes = Array(text.utf8)
    guard let scheme = originScheme(of: bytes) else { return text }
    let namesHost = text.contains("://") || ["http", "https", "s3"].contains { scheme.elementsEqual($0.utf8) }
    guard namesHost || isUnknown else { return text }
    let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.count
    return printableURL(bytes[..<end], keepingQuery: isLocal(text)) + String(decoding: bytes[end...], as: UTF8.self)
}

/// Returns true for the text of a locator whose origin is on this machine. Its query identifies an object, while any
/// other query may be a secret.
func isLocal(_ text: String) -> Bool {
    let origin = originScheme(of: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self).lowercased() }
    return origin.map(["assets-library", "data", "file", "stdin"].contains) ?? false
}

/// Returns the scheme of the origin; nil without a scheme.
func originScheme(of bytes: [UInt8]) -> ArraySlice<UInt8>? {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[..<colon].allSatisfy(schemeCharacters.contains)
    else { return nil }
    return bytes[..<colon].split(separator: UInt8(ascii: "+")).last
}

private let schemeCharacters = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.".utf8)

private func printableURL(_ bytes: ArraySlice<UInt8>, keepingQuery keepsQuery: Bool) -> String {
    var start = bytes.startIndex
    // The authority follows the first `://`, unless that is part of a path, a query or a fragment, which may contain a
    // URL.
    if let mark = bytes.firstIndex(where: { "/?#".utf8.contains($0) }), mark > bytes.startIndex,
        bytes[(mark - 1)...].starts(with: "://".utf8)
    {
        start = mark + 2
    } else if bytes.starts(with: "//".utf8) {
        start += 2
    }
    var rest = bytes[start...]
    var text = String(decoding: bytes[..<start], as: UTF8.self)
    let authority = rest.prefix { !"/?#\\".utf8.contains($0) }
    var at = authority.lastIndex(of: UInt8(ascii: "@"))
    // A password with one of these characters unencoded ends at a later '@': the apparent port is not a port.
    if at == nil, let colon = authority.lastIndex(of: UInt8(ascii: ":")), authority.first != UInt8(ascii: "["),
        !authority[(colon + 1)...].allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    {
        at = rest.lastIndex(of: UInt8(ascii: "@"))
    }
    if at == nil, authority.isEmpty, start > bytes.startIndex, !keepsQuery {
        at = rest.lastIndex(of: UInt8(ascii: "@"))
    }
    if let at {
        text += "***"
        rest = rest[at...]
    }
    let query = rest.firstIndex { $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let fragment = rest.firstIndex { $0 == UInt8(ascii: "#") } ?? rest.endIndex
    guard !keepsQuery, query < fragment else { return text + String(decoding: rest[..<fragment], as: UTF8.self) }
    return text + String(decoding: rest[..<query], as: UTF8.self) + "?***"
}
