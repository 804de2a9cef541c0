package import BlobCore

/// The header of a part, with bytes where a value need not be text.
package struct MultipartHeader: Equatable, Sendable {
    /// The name of the field, as received: the escapes of browsers (`%22 %0D %0A`) remain, because a name may also
    /// contain these characters literally.
    package let name: [UInt8]

    /// The file name: the decoded `filename*` (RFC 8187) if there is one, which takes precedence (RFC 6266, section
    /// 4.3), and the `filename` as received otherwise; nil for a field that is not a file.
    ///
    /// Forms must not have `filename*` (RFC 7578, section 4.2). Postman and .NET send both: then the `filename` is only
    /// a replacement in ASCII, or encoded as in mail.
    package let filename: [UInt8]?

    /// The media type, as received; nil if none was sent.
    package let mediaType: String?

    /// - Parameter lines: All lines with their line ends, without the blank one.
    /// - Throws: ``BlobError/Code/corrupted``.
    init(_ lines: some Collection<UInt8>) throws(BlobError) {
        var fields: [String: ArraySlice<UInt8>] = [:]
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            // Every line is known to end with CR LF; a CR elsewhere is refused with the other control characters.
            let line = Array(line.dropLast())[...]
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw BlobError(.corrupted, "A line of a header is no field.") }
            let value = Array(line[(colon + 1)...].trimmed)[...]
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw BlobError(.corrupted, "A header has a control character in it.")
            }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            guard fields.updateValue(value, forKey: name) == nil else {
                throw BlobError(.corrupted, "A header has \(name) twice.")
            }
        }
        guard let disposition = fields["content-disposition"] else {
            throw BlobError(.corrupted, "A part has no Content-Disposition.")
        }
        let parameters = try Self.parameters(of: disposition, expecting: "form-data")
        guard let name = parameters["name"] else { throw BlobError(.corrupted, "A part has no name.") }
        self.name = name
        self.filename = try Self.filename(parameters)
        self.mediaType = fields["content-type"].map { String(decoding: $0, as: UTF8.self) }
    }

    /// Parses the parameters of a field such as `form-data; name="a"`.
    ///
    /// In a quoted value, only `\"` and `\\` are escapes: browsers write Windows paths with single backslashes.
    static func parameters(
        of field: ArraySlice<UInt8>, expecting type: String
    ) throws(BlobError) -> [String: [UInt8]] {
        var rest = field
        func next(upTo ends: String) -> [UInt8] {
            let part = rest.prefix { !ends.utf8.contains($0) }
            rest = rest.dropFirst(part.count)
            return Array(part.trimmed)
        }
        guard String(decoding: next(upTo: ";"), as: UTF8.self).lowercased() == type else {
            throw BlobError(.corrupted, "A field is not \(type).")
        }
        var parameters: [String: [UInt8]] = [:]
        while rest.popFirst() != nil {
            let name = String(decoding: next(upTo: ";="), as: UTF8.self).lowercased()
            if name.isEmpty, rest.isEmpty { break }  // A semicolon at the end.
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else {
                throw BlobError(.corrupted, "A parameter has no value.")
            }
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
            let value: [UInt8]
            if rest.first == UInt8(ascii: "\"") {
                value = try Self.takeQuoted(&rest)
                guard next(upTo: ";").isEmpty else { throw BlobError(.corrupted, "Something follows a quoted value.") }
            } else {
                value = next(upTo: ";")
                guard !value.isEmpty, !value.contains(where: { " \t\"".utf8.contains($0) }) else {
                    throw BlobError(.corrupted, "A value should be quoted.")
                }
            }
            guard parameters.updateValue(value, forKey: name) == nil else {
                throw BlobError(.corrupted, "The parameter \(name) is there twice.")
            }
        }
        return parameters
    }

    /// Decodes a value such as `UTF-8''na%C3%AFve` (RFC 8187, section 3.2).
    private static func decodeExtended(_ value: [UInt8]) throws(BlobError) -> [UInt8] {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, String(decoding: parts[0], as: UTF8.self).lowercased() == "utf-8",
            let name = PercentEncoding.decode(parts[2])
        else { throw BlobError(.corrupted, "A filename* is not in UTF-8.") }
        return name
    }

    /// Returns the file name in a `Content-Disposition` of a request (RFC 6266), of any type; nil if there is none, or
    /// a malformed one.
    package static func filename(inDisposition field: [UInt8]) -> [UInt8]? {
        let type = field.prefix { $0 != UInt8(ascii: ";") }.trimmed
        let name = String(decoding: type, as: UTF8.self).lowercased()
        guard let parameters = try? Self.parameters(of: field[...], expecting: name) else { return nil }
        let filename = try? Self.filename(parameters)
        return filename?.isEmpty == false ? filename : nil
    }

    /// Returns the file name that parameters tell.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a `filename*` that cannot be decoded, if there is no other name.
    private static func filename(_ parameters: [String: [UInt8]]) throws(BlobError) -> [UInt8]? {
        guard let extended = parameters["filename*"] else { return parameters["filename"] }
        guard let plain = parameters["filename"] else { return try self.decodeExtended(extended) }
        guard let decoded = try? self.decodeExtended(extended), !decoded.isEmpty else { return plain }
        return decoded
    }

    /// Takes a value in quotes.
    ///
    /// Browsers and curl escape no backslash: `\"` is the end of a value if nothing, or the name of another parameter,
    /// follows it. An escaped quote before such text is refused, because a quote at the end of the line is left over.
    private static func takeQuoted(_ rest: inout ArraySlice<UInt8>) throws(BlobError) -> [UInt8] {
        var value: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return value }
            if byte == UInt8(ascii: "\\"), let escaped = rest.first, "\"\\".utf8.contains(escaped) {
                rest = rest.dropFirst()
                if escaped == UInt8(ascii: "\""), Self.isEnd(rest) { return value + [byte] }
                value.append(escaped)
            } else {
                value.append(byte)
            }
        }
        throw BlobError(.corrupted, "A quoted value has no end.")
    }

    /// Returns true when `rest`, which follows `\"`, is nothing or the beginning of another parameter.
    private static func isEnd(_ rest: ArraySlice<UInt8>) -> Bool {
        let rest = rest.trimmed
        guard let first = rest.first else { return true }
        guard first == UInt8(ascii: ";") else { return false }
        let name = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != UInt8(ascii: "=") }
        return ["name", "filename", "filename*"].contains(String(decoding: name, as: UTF8.self).lowercased())
            && rest.contains(UInt8(ascii: "="))
    }

    /// Returns the boundary of a `Content-Type`; nil if it is not that of a form.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when a form has no boundary or malformed parameters.
    package static func boundary(of contentType: String) throws(BlobError) -> String? {
        let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        guard type == "multipart/form-data" else { return nil }
        let parameters = try Self.parameters(of: Array(contentType.utf8)[...], expecting: type)
        guard let boundary = parameters["boundary"] else {
            throw BlobError(.corrupted, "The Content-Type of the form has no boundary.")
        }
        return String(decoding: boundary, as: UTF8.self)
    }
}

extension Collection<UInt8> where Self: BidirectionalCollection, SubSequence == Self {
    /// The elements without spaces and tabs at both ends.
    fileprivate var trimmed: Self {
        var rest = self.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return rest
    }
}
