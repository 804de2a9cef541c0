import BlobPlatform

/// The media type and the bytes of a `data:` URL (RFC 2397).
private struct DataURL {
    /// The media type of a URL without one (RFC 2397, section 3).
    private static let defaultMediaType = "text/plain;charset=US-ASCII"

    /// The maximum number of bytes of a URL in a message.
    private static let maximumShownByteCount = 1024

    let mediaType: String
    let bytes: [UInt8]

    /// Parses `data:[TYPE/SUBTYPE][;PARAMETER=VALUE]…[;base64],DATA`, and decodes the data.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` with the offset of the fault in bytes of the URL.
    /// - Complexity: O(n) for n bytes of the URL.
    init(_ url: BlobLocator) throws(BlobError) {
        let text = Array(url.schemeSpecificPart.utf8)
        do throws(Fault) {
            guard let comma = text.firstIndex(of: UInt8(ascii: ",")) else {
                throw Fault(reason: "no comma before its data", offset: text.count)
            }
            let mark = ";base64"  // In upper or lower case, as browsers accept it.
            let isBase64 = String(decoding: text[..<comma], as: UTF8.self).lowercased().hasSuffix(mark)
            self.mediaType = try Self.mediaType(text[..<(isBase64 ? comma - mark.utf8.count : comma)])
            let data = text[(comma + 1)...]
            self.bytes = isBase64 ? try Self.decodeBase64(data) : PercentEncoding.decode(data) ?? []
        } catch {
            let start = url.scheme.utf8.count + 1
            throw BlobError(
                .invalidLocator, "The \(url.scheme): URL has \(error.reason).", operation: "resolve",
                locator: String(decoding: url.text.utf8.prefix(Self.maximumShownByteCount), as: UTF8.self),
                byteOffset: Int64(start + error.offset))
        }
    }

    private struct Fault: Error {
        let reason: String
        let offset: Int
    }

    /// Returns a media type, decoded; parameters alone imply `text/plain`.
    private static func mediaType(_ text: ArraySlice<UInt8>) throws(Fault) -> String {
        guard !text.isEmpty else { return self.defaultMediaType }
        let decoded = PercentEncoding.decode(text) ?? []
        guard decoded.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw Fault(reason: "a media type with a control or non-ASCII character", offset: 0)
        }
        let type = String(decoding: decoded, as: UTF8.self)
        if type.hasPrefix(";") { return "text/plain" + type }
        let names = type.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else {
            throw Fault(reason: "no valid media type, such as text/plain, before its comma", offset: 0)
        }
        return type
    }

    private static let base64Characters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Decodes base64 (RFC 4648, section 4), whose characters may be percent-encoded. White space is skipped, and the
    /// padding may be missing.
    private static func decodeBase64(_ text: ArraySlice<UInt8>) throws(Fault) -> [UInt8] {
        let padding = UInt8(ascii: "=")
        var characters: [UInt8] = []
        characters.reserveCapacity(text.count + 2)
        var index = text.startIndex
        while index < text.endIndex {
            let offset = index
            let isEncoded = text[index] == UInt8(ascii: "%")
            index += isEncoded ? 3 : 1
            let byte = isEncoded ? PercentEncoding.decode(text[offset..<index])?.first ?? 0 : text[offset]
            if byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
            guard byte == padding || self.base64Characters.contains(byte) && characters.last != padding else {
                throw Fault(reason: "a character in its data that is not valid base64", offset: offset)
            }
            characters.append(byte)
        }
        if characters.last != padding { characters += Array(repeating: padding, count: -characters.count & 3) }
        // Encoding the bytes again reveals whether the last character has surplus bits.
        guard let bytes = Data(base64Encoded: Data(characters)), bytes.base64EncodedData().elementsEqual(characters)
        else { throw Fault(reason: "base64 data that ends in the middle of a byte", offset: text.endIndex) }
        return Array(bytes)
    }
}

extension BlobProvider {
    /// The `data:` URLs (RFC 2397), which contain their bytes: `data:,hello`, `data:image/png;base64,iVBORw0KGgo=`.
    ///
    /// The data is the text between the first comma and the selectors of the locator. A `#` in it is written `%23`; a
    /// `+` stands for itself. Errors are ``BlobError/Code/invalidLocator`` with the byte offset.
    ///
    /// ```swift
    /// let hello = try BlobRegistry.standard.source(for: "data:text/plain,hello%20world").data(upTo: 64)
    /// ```
    public static let dataURL = BlobProvider(
        .origin { locator, _ in
            let url = try DataURL(locator)
            return MemorySource(url.bytes, mediaType: url.mediaType)
        }, schemes: ["data"])
}
