public import BlobCore
public import BlobPlatform
import CryptoDigest
import FileSource

/// Composes a `multipart/form-data` body (RFC 7578). Append the parts, then create the body with
/// ``body(boundary:context:)``.
///
/// ```swift
/// var form = MultipartForm()
/// try form.appendPart(value: "Holidays", name: "title")
/// try form.appendPart(fileURL: photo, name: "photo")
/// let body = try form.body()
/// ```
///
/// Parts are read only when the body is read, and are never stored as a whole in memory or in a temporary file. Several
/// files of one field are several parts with the same name.
public struct MultipartForm: Sendable {
    /// The rules for writing names.
    public let naming: MultipartNaming
    /// The limit on the rate at which bodies are read; nil for no limit.
    public var throttle: MultipartThrottle?
    private var parts: [FormPart] = []

    /// Creates a form without parts.
    public init(naming: MultipartNaming = MultipartNaming()) { self.naming = naming }

    /// The number of parts.
    public var partCount: Int { self.parts.count }

    /// Returns the body of the parts appended so far, and fixes the length, the name and the identity of each part.
    ///
    /// Queries the info of each source, which may block. Reads only the first bytes of files whose media type is known
    /// neither from the source nor from the extension of their name.
    ///
    /// - Parameters:
    ///   - boundary: The boundary. With a boundary of your own, bodies of the same parts have the same bytes. Such
    ///     bodies search their parts for the boundary, and reading fails if a part contains it.
    ///   - context: The context for the queries.
    /// - Throws: The errors of the queries; ``BlobError/Code/invalidArgument`` or ``BlobError/Code/limitExceeded`` for
    ///   names that sources provide. The message names the part.
    public func body(
        boundary: MultipartBoundary = .random(), context: BlobContext = BlobContext()
    ) throws(BlobError) -> MultipartBody {
        var assembly = Assembly(boundary)
        for (index, part) in self.parts.enumerated() {
            let label = "Part \(index + 1) of \(self.parts.count)" + (part.name.map { " ('\($0)')" } ?? "")
            do {
                let info = try part.source.info(context)
                let heading = try part.header(
                    info, self.naming, signedType: part.signedType(info, context))
                assembly.append(part, info, heading: heading, label: label)
            } catch {
                throw error.naming(label)
            }
        }
        return assembly.finish(self.throttle)
    }

    /// Appends a part if its names, as far as they are known, are valid.
    mutating func append(_ part: FormPart) throws(BlobError) {
        // The source has not been queried yet, so its info is left empty.
        _ = try part.header(BlobInfo(), self.naming)
        self.parts.append(part)
    }
}

/// The segments of a body under construction, in which memory alternates with parts, and the digest for its identity.
private struct Assembly {
    private let boundary: MultipartBoundary
    private var segments: [any BlobInputStreamDataSource] = []
    private var validators: [BlobValidator?] = []
    /// The hasher for the identity of the body; nil without the trait `Crypto`.
    private var hasher = CryptoDigest.all.first?.makeHasher()

    init(_ boundary: MultipartBoundary) { self.boundary = boundary }

    mutating func append(_ part: FormPart, _ info: BlobInfo, heading: [UInt8], label: String) {
        let delimiter = (self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)\r\n"
        self.appendMemory(Array(delimiter.utf8) + heading)
        let source = MultipartPart(
            part.source, label: label, byteCount: part.byteCount ?? info.byteCount, info: info,
            boundary: self.boundary.isChosen ? self.boundary : nil)
        self.segments.append(source)
        // The bytes of a value are the same in each run of a program, but the validator of its memory is not.
        if let value = part.value { self.hash(value) } else { self.validators.append(info.validator) }
    }

    mutating func finish(_ throttle: MultipartThrottle?) -> MultipartBody {
        self.appendMemory(Array(((self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)--\r\n").utf8))
        let validators = self.validators.compactMap(\.self)
        let recipe = validators.count == self.validators.count ? self.hasher?.finalizeHexadecimal() : nil
        return MultipartBody(
            boundary: self.boundary, self.segments,
            validator: recipe.map { .combined("multipart-\($0)", validators) },
            throttle: throttle)
    }

    private mutating func appendMemory(_ bytes: [UInt8]) {
        self.hash(bytes)
        self.segments.append(MemorySource(bytes))
    }

    private mutating func hash(_ bytes: [UInt8]) {
        // Hashed with their length, so that they cannot be confused with the bytes that follow.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { self.hasher?.update($0) }
        bytes.withUnsafeBytes { self.hasher?.update($0) }
    }
}

/// Methods that append a part.
///
/// All of them throw ``BlobError/Code/invalidArgument`` for a name or header that cannot be sent, or
/// ``BlobError/Code/limitExceeded`` if it is too long, and then append nothing. An empty name is sent as is; some
/// receivers drop such a part.
extension MultipartForm {
    /// Appends a text field in UTF-8, with every line break as CR LF, as browsers send it.
    public mutating func appendPart(value: String, name: String) throws(BlobError) {
        try self.appendPart(value: Data(MultipartNaming.withWholeLineBreaks(value)), name: name)
    }

    /// Appends a field whose bytes are sent unchanged.
    ///
    /// - Parameters:
    ///   - value: The bytes. Each body hashes them, so append a large value as a source instead.
    ///   - name: The name of the field.
    ///   - mediaType: The media type; nil to send none, which means text.
    public mutating func appendPart(value: Data, name: String, mediaType: String? = nil) throws(BlobError) {
        try self.append(
            FormPart(
                source: MemorySource(value), name: name, heading: .field(mediaType: mediaType), value: Array(value)))
    }

    /// Appends a field for each value in nested parameters.
    ///
    /// Fields are named and ordered as in AFNetworking: `a[b]` for the value `b` of a dictionary `a`, `a[]` for each
    /// value of a list `a`, and `a` for each value of a set `a`. Dictionaries are sorted by their keys. Empty
    /// collections are not sent.
    public mutating func appendParts(_ parameters: [String: MultipartValue]) throws(BlobError) {
        var form = self  // No part is appended if a name is rejected.
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            try value.forEachField(name) { (name, value) throws(BlobError) in
                switch value {
                case .text(let text): try form.appendPart(value: text, name: name)
                case .data(let data): try form.appendPart(value: data, name: name)
                default: try form.appendPart(value: Data(), name: name)
                }
            }
        }
        self = form
    }

    /// Appends a field with the bytes of any source, without a file name.
    public mutating func appendPart(
        value: any BlobInputStreamDataSource, name: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(FormPart(source: value, name: name, heading: .field(mediaType: mediaType)))
    }

    /// Appends a file whose bytes are in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes of the file, which are not copied.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil to derive it from the extension of the file name.
    public mutating func appendPart(
        data: Data, name: String, fileName: String, mediaType: String? = nil
    ) throws(BlobError) {
        try self.appendPart(source: MemorySource(data), name: name, fileName: fileName, mediaType: mediaType)
    }

    /// Appends a file.
    ///
    /// - Parameters:
    ///   - fileURL: A file URL. The file need not exist before the body is created.
    ///   - name: The name of the field.
    ///   - fileName: The file name to send; nil to use the name of the file.
    ///   - mediaType: The media type; nil to derive it from the extension of the file name.
    public mutating func appendPart(
        fileURL: URL, name: String, fileName: String? = nil, mediaType: String? = nil
    ) throws(BlobError) {
        guard fileURL.isFileURL else {
            throw BlobError(
                .invalidArgument, "The URL must be a file URL, but its scheme is '\(fileURL.scheme ?? "")'.")
        }
        try self.appendPart(source: FileSource(url: fileURL), name: name, fileName: fileName, mediaType: mediaType)
    }

    /// Appends the bytes of any source as a file.
    ///
    /// - Parameters:
    ///   - source: The source of the bytes, such as a member of an archive, an asset or a source of a registry.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file; nil to use the name of the source, or `blob` if the source has no name.
    ///   - mediaType: The media type; nil to use the source's media type, or to derive one from the extension of the
    ///     file name.
    public mutating func appendPart(
        source: any BlobInputStreamDataSource, name: String, fileName: String? = nil, mediaType: String? = nil
    ) throws(BlobError) {
        try self.append(
            FormPart(source: source, name: name, heading: .file(fileName: fileName, mediaType: mediaType)))
    }

    /// Appends a part with custom headers, which receivers of forms expect to begin with `Content-Disposition`.
    ///
    /// - Parameters:
    ///   - headers: The headers, sent unchanged in this order. `Content-Transfer-Encoding` is rejected.
    ///   - body: The source of the bytes.
    public mutating func appendPart(
        headers: [(name: String, value: String)], body: any BlobInputStreamDataSource
    ) throws(BlobError) {
        try self.append(FormPart(source: body, name: nil, heading: .headers(headers)))
    }

    /// Appends a source as a file. Reading the body fails if the number of bytes differs from `byteCount`.
    package mutating func append(
        _ source: any BlobInputStreamDataSource, _ byteCount: Int64?, name: String, fileName: String,
        _ mediaType: String?
    ) throws(BlobError) {
        guard byteCount ?? 0 >= 0 else {
            throw BlobError(.invalidArgument, "The length of the part must not be negative, but is \(byteCount ?? 0).")
        }
        try self.append(
            FormPart(
                source: source, name: name, heading: .file(fileName: fileName, mediaType: mediaType),
                byteCount: byteCount))
    }
}
