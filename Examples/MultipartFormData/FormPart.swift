import BlobCore
import BlobPlatform

/// A part as it was appended. Its header may depend on the info of its source.
struct FormPart: Sendable {
    enum Heading: Sendable {
        /// A field, with `Content-Type` only if a media type is specified.
        case field(mediaType: String?)
        /// A file. The source provides the values that are nil.
        case file(fileName: String?, mediaType: String?)
        case headers([(name: String, value: String)])
    }

    /// The file name for a source without a name, as in browsers (`FormData` in the XMLHttpRequest standard).
    private static let unknownFileName = "blob"

    let source: any BlobInputStreamDataSource
    /// The name of the field; nil only for a part with custom headers.
    let name: String?
    let heading: Heading
    /// The length of the source in bytes, as specified when the part was appended.
    var byteCount: Int64?
    /// The bytes of the source, if they are a short value.
    var value: [UInt8]?

    /// Returns the header, including its terminating empty line.
    ///
    /// - Parameter signedType: The media type found at the beginning of the source, if it is not known otherwise.
    func header(
        _ info: BlobInfo, _ naming: MultipartNaming, signedType: String? = nil
    ) throws(BlobError) -> [UInt8] {
        let header = try self.unlimitedHeader(info, naming, signedType)
        guard header.count <= naming.maximumHeaderByteCount else {
            throw BlobError(
                .limitExceeded,
                "The header has \(header.count) bytes, more than the limit of \(naming.maximumHeaderByteCount).")
        }
        return header
    }

    /// Returns the media type found at the beginning of a file, if it is not known otherwise.
    ///
    /// Returns nil if no type was found, or if the file cannot be read twice or has unknown length. Reading the body
    /// reports any error.
    func signedType(_ info: BlobInfo, _ context: BlobContext) -> String? {
        guard case .file(let fileName, nil) = self.heading, info.mediaType == nil,
            BlobMediaType.mediaType(ofFileName: fileName ?? info.name ?? "") == nil, info.byteCount != nil
        else { return nil }
        return BlobMediaType.mediaType(byBeginningOf: self.source, context)
    }

    private func unlimitedHeader(
        _ info: BlobInfo, _ naming: MultipartNaming, _ signedType: String?
    ) throws(BlobError) -> [UInt8] {
        switch self.heading {
        case .field(let mediaType): return try self.header(fileName: nil, mediaType, naming)
        case .file(let fileName, let mediaType):
            let fileName = fileName ?? info.name ?? Self.unknownFileName
            let mediaType =
                mediaType ?? info.mediaType ?? BlobMediaType.mediaType(ofFileName: fileName) ?? signedType
                ?? BlobMediaType.unknown
            return try self.header(fileName: fileName, mediaType, naming)
        case .headers(let headers):
            var bytes: [UInt8] = []
            for (name, value) in headers {
                try Self.check(name, value)
                bytes += "\(name): \(value)\r\n".utf8
            }
            return bytes + "\r\n".utf8
        }
    }

    private func header(
        fileName: String?, _ mediaType: String?, _ naming: MultipartNaming
    ) throws(BlobError) -> [UInt8] {
        var bytes = Array("Content-Disposition: form-data; ".utf8)
        bytes += try naming.parameter(name: self.name ?? "")
        if let fileName {
            bytes += "; ".utf8
            bytes += try naming.parameter(fileName: fileName)
        }
        if let mediaType {
            try Self.check("Content-Type", mediaType)
            bytes += "\r\nContent-Type: \(mediaType)".utf8
        }
        return bytes + "\r\n\r\n".utf8
    }

    /// Rejects names and values that could end a header and begin another one.
    private static func check(_ name: String, _ value: String) throws(BlobError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
            throw BlobError(.invalidArgument, "'\(name)' is not a valid header name.")
        }
        guard !value.isEmpty, !value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
            throw BlobError(.invalidArgument, "'\(value)' is not a valid value for the header \(name).")
        }
        // Deprecated by RFC 7578, section 4.7. Some receivers decode the part accordingly; most do not.
        guard name.lowercased() != "content-transfer-encoding" else {
            throw BlobError(.invalidArgument, "A form cannot have the header Content-Transfer-Encoding.")
        }
    }
}

extension UInt8 {
    /// True for `tchar` of RFC 9110, section 5.6.2.
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}

extension BlobError {
    /// Returns this error with the label of a part at the beginning of its message.
    func naming(_ label: String) -> BlobError {
        var error = BlobError(
            self.code, "\(label): \(self.message)", operation: self.operation, locator: self.locator,
            byteOffset: self.byteOffset, isTransient: self.isTransient, cause: self.cause)
        error.layers = self.layers
        error.systemErrorNumber = self.systemErrorNumber
        return error
    }
}
