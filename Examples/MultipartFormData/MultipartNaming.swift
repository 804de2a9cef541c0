import BlobStreams

/// How names of fields and files are written, and which are refused.
///
/// The defaults are those of browsers, which most receivers are made for. `filename*` is not offered: forms must not
/// have it (RFC 7578, section 4.2), and some receivers refuse a form that does.
public struct MultipartNaming: Hashable, Sendable {
    /// How what cannot stand in quotes as it is becomes something that can.
    public enum Style: Hashable, Sendable {
        /// As browsers do it (the encoding of `multipart/form-data` in the HTML standard): `"` becomes `%22`, CR and LF
        /// become `%0D` and `%0A`, in names of fields any line break is CR LF first, and nothing else changes.
        ///
        /// With one deviation: a backslash at the very end becomes `%5C`, because before the closing quote it makes
        /// many receivers lose the part.
        case browser
        /// As RFC 2046 and mail do it: a backslash before `"` and backslash. Only for receivers that are known to want
        /// it: many browsers' receivers do not take the backslash away. Line breaks are control characters here.
        case quotedPair
        /// As ``browser``, but in names of files what any receiver is known to stumble over is `_`: the characters
        /// `" \ / ; = %` and line breaks. For names that strangers gave.
        case sanitized
    }

    /// The treatment of control characters (0 to 31 and 127), which receivers refuse, or cut names at.
    public enum ControlCharacters: Hashable, Sendable {
        /// ``BlobError/Code/invalidArgument``.
        case refused
        /// Each becomes `_`.
        case replaced
    }

    /// The longest file name unless told otherwise: 255 bytes, what file systems allow (`NAME_MAX`).
    public static let defaultFileNameLimit = 255

    /// The longest header of a part unless told otherwise: 1024 bytes with its last line, past which Django refuses
    /// forms.
    public static let defaultHeaderLimit = 1024

    /// How names are written.
    public var style: Style
    /// The treatment of control characters.
    public var controlCharacters: ControlCharacters
    /// The longest file name, in bytes of UTF-8 before anything is replaced.
    public var fileNameLimit: Int
    /// The longest header of a part, in bytes.
    public var headerLimit: Int

    /// Creates rules.
    public init(
        style: Style = .browser, controlCharacters: ControlCharacters = .refused,
        fileNameLimit: Int = Self.defaultFileNameLimit, headerLimit: Int = Self.defaultHeaderLimit
    ) {
        self.style = style
        self.controlCharacters = controlCharacters
        self.fileNameLimit = fileNameLimit
        self.headerLimit = headerLimit
    }

    /// The bytes of `name="…"`.
    func parameter(name: String) throws(BlobError) -> [UInt8] {
        let bytes = self.style == .quotedPair ? Array(name.utf8) : Self.withWholeLineBreaks(name)
        return Array("name=\"".utf8) + (try self.escaped(bytes, of: "name '\(name)'")) + [quote]
    }

    /// The bytes of `filename="…"`.
    func parameter(fileName: String) throws(BlobError) -> [UInt8] {
        guard fileName.utf8.count <= self.fileNameLimit else {
            throw BlobError(
                .limitExceeded,
                "A file name has \(fileName.utf8.count) bytes; the limit is \(self.fileNameLimit).")
        }
        var bytes = Array(fileName.utf8)
        if self.style == .sanitized {
            let stumblingBlocks = Set("\"\\/;=%\r\n".utf8)
            bytes = bytes.map { stumblingBlocks.contains($0) ? UInt8(ascii: "_") : $0 }
        }
        return Array("filename=\"".utf8) + (try self.escaped(bytes, of: "file name '\(fileName)'")) + [quote]
    }

    /// `text` with each line break as CR LF.
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
        for (index, byte) in bytes.enumerated() {
            switch (byte, self.style) {
            case (backslash, .quotedPair), (quote, .quotedPair): escaped += [backslash, byte]
            case (backslash, _) where index == bytes.count - 1: escaped += "%5C".utf8
            case (quote, _): escaped += "%22".utf8
            case (carriageReturn, .browser), (carriageReturn, .sanitized): escaped += "%0D".utf8
            case (lineFeed, .browser), (lineFeed, .sanitized): escaped += "%0A".utf8
            case (0..<0x20, _), (0x7F, _):
                guard self.controlCharacters == .replaced else {
                    throw BlobError(.invalidArgument, "The \(what) has a control character at byte \(index).")
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
