import BlobCore

/// The rules for writing and rejecting the names of fields and files.
///
/// The defaults match browsers, for which most receivers are designed. `filename*` is not supported, because forms must
/// not use it (RFC 7578, section 4.2), and some receivers reject a form that does.
public struct MultipartNaming: Hashable, Sendable {
    /// The encoding of characters that cannot appear unchanged in quotes.
    public enum Style: Hashable, Sendable {
        /// The encoding of browsers (`multipart/form-data` in the HTML standard): `"` becomes `%22`, CR and LF become
        /// `%0D` and `%0A`, every line break in the name of a field becomes CR LF first, and nothing else changes.
        ///
        /// There is one deviation: backslashes at the very end become `%5C`, because many receivers lose a part with a
        /// backslash before the closing quote.
        case browser
        /// The encoding of RFC 2046 and mail, which puts a backslash before `"` and backslash. Use it only for
        /// receivers known to expect it, because many receivers designed for browsers keep the backslash. Line breaks
        /// are treated as control characters.
        case quotedPair
        /// The same encoding as ``browser``, except that in file names, the characters `" \ / ; = %` and line breaks,
        /// which some receivers are known to mishandle, become `_`. Use it for untrusted names.
        case sanitized
    }

    /// The treatment of control characters (0 to 31 and 127), which cause receivers to reject or truncate names.
    public enum ControlCharacterPolicy: Hashable, Sendable {
        /// A control character throws ``BlobError/Code/invalidArgument``.
        case refused
        /// Each control character becomes `_`.
        case replaced
    }

    /// The default limit for a file name: 255 bytes, the limit of file systems (`NAME_MAX`).
    public static let defaultMaximumFileNameByteCount = 255

    /// The default limit for the header of a part: 1024 bytes including its empty line, above which Django rejects
    /// forms.
    public static let defaultMaximumHeaderByteCount = 1024

    /// The encoding of names.
    public var style: Style
    /// The treatment of control characters.
    public var controlCharacters: ControlCharacterPolicy
    /// The maximum length of a file name, in bytes of UTF-8 before any replacement.
    public var maximumFileNameByteCount: Int
    /// The maximum length of the header of a part, in bytes, including its empty line.
    public var maximumHeaderByteCount: Int

    /// Creates naming rules.
    public init(
        style: Style = .browser, controlCharacters: ControlCharacterPolicy = .refused,
        maximumFileNameByteCount: Int = Self.defaultMaximumFileNameByteCount,
        maximumHeaderByteCount: Int = Self.defaultMaximumHeaderByteCount
    ) {
        self.style = style
        self.controlCharacters = controlCharacters
        self.maximumFileNameByteCount = maximumFileNameByteCount
        self.maximumHeaderByteCount = maximumHeaderByteCount
    }

    /// Returns the bytes of `name="…"`.
    func parameter(name: String) throws(BlobError) -> [UInt8] {
        let bytes = self.style == .quotedPair ? Array(name.utf8) : Self.withWholeLineBreaks(name)
        return Array("name=\"".utf8) + (try self.escaped(bytes, of: "name '\(name)'")) + [quote]
    }

    /// Returns the bytes of `filename="…"`.
    func parameter(fileName: String) throws(BlobError) -> [UInt8] {
        guard fileName.utf8.count <= self.maximumFileNameByteCount else {
            throw BlobError(
                .limitExceeded,
                "The file name has \(fileName.utf8.count) bytes, more than the limit of \(self.maximumFileNameByteCount)."
            )
        }
        var bytes = Array(fileName.utf8)
        if self.style == .sanitized {
            let unsafeCharacters = Set("\"\\/;=%\r\n".utf8)
            bytes = bytes.map { unsafeCharacters.contains($0) ? UInt8(ascii: "_") : $0 }
        }
        return Array("filename=\"".utf8) + (try self.escaped(bytes, of: "file name '\(fileName)'")) + [quote]
    }

    /// Returns the UTF-8 bytes of `text`, with each line break as CR LF.
    static func withWholeLineBreaks(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte == lineFeed, bytes.last != carriageReturn { bytes.append(carriageReturn) }
            if byte != lineFeed, bytes.last == carriageReturn { bytes.append(lineFeed) }
            bytes.append(byte)
        }
        return bytes.last == carriageReturn ? bytes + [lineFeed] : bytes
    }

    private func escaped(_ bytes: [UInt8], of what: String) throws(BlobError) -> [UInt8] {
        var escaped: [UInt8] = []
        let lastBackslashes = bytes.count - bytes.reversed().prefix { $0 == backslash }.count
        for (index, byte) in bytes.enumerated() {
            switch (byte, self.style) {
            case (backslash, .quotedPair), (quote, .quotedPair): escaped += [backslash, byte]
            case (backslash, _) where index >= lastBackslashes: escaped += "%5C".utf8
            case (quote, _): escaped += "%22".utf8
            case (carriageReturn, .browser), (carriageReturn, .sanitized): escaped += "%0D".utf8
            case (lineFeed, .browser), (lineFeed, .sanitized): escaped += "%0A".utf8
            case (0..<0x20, _), (0x7F, _):
                guard self.controlCharacters == .replaced else {
                    throw BlobError(.invalidArgument, "The \(what) contains a control character at byte \(index).")
                }
                escaped.append(UInt8(ascii: "_"))
            default: escaped.append(byte)
            }
        }
        return escaped
    }
}

private let quote = UInt8(ascii: "\"")
private let backslash = UInt8(ascii: "\\")
private let carriageReturn: UInt8 = 0x0D
private let lineFeed: UInt8 = 0x0A
