public import BlobCore
import BlobPlatform
import CryptoDigest

/// Composes `multipart/form-data` (RFC 7578): append the parts, then make their body with ``body(boundary:context:)``.
///
/// ```swift
/// var form = MultipartForm()
/// try form.appendPart(value: "Holidays", name: "title")
/// try form.appendPart(fileURL: photo, name: "photo")
/// let body = try form.body()
/// ```
///
/// Parts are read only when the body is, and never held in memory or in a temporary file as a whole. Several files of
/// one field are several parts of one name.
public struct MultipartForm: Sendable {
    /// The rules for writing names.
    public let naming: MultipartNaming
    /// The limit of the rate at which bodies are read; nil for none.
    public var throttle: MultipartThrottle?
    private var parts: [FormPart] = []

    /// Creates a form without parts.
    public init(naming: MultipartNaming = MultipartNaming()) { self.naming = naming }

    /// The number of parts.
    public var partCount: Int { self.parts.count }

    /// Returns the body of the parts appended so far, and fixes the length, the name and the identity of each.
    ///
    /// Queries the info of each source, which may block, and reads none but the first bytes of files whose media type
    /// neither the source nor the extension of their name tells.
    ///
    /// - Parameters:
    ///   - boundary: The boundary. With a boundary of your own, bodies of the same parts have the same bytes; they
    ///     search their parts for the boundary, and reading fails if a part contains it.
    ///   - context: The context of the queries.
    /// - Throws: The errors of the queries; ``BlobError/Code/invalidArgument`` and ``BlobError/Code/limitExceeded`` for
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

    /// Appends a part if its names are valid as far as they are known.
    mutating func append(_ part: FormPart) throws(BlobError) {
        // The source is not queried yet, so its info is left empty.
        _ = try part.header(BlobInfo(), self.naming)
        self.parts.append(part)
    }
}

/// The segments of a body under construction, in which memory alternates with parts, and the digest of its identity.
private struct Assembly {
    private let boundary: MultipartBoundary
    private var segments: [any BlobInputStreamDataSource] = []
    private var validators: [BlobValidator?] = []
    private var hasher = CryptoDigest.sha256.makeHasher()

    init(_ boundary: MultipartBoundary) { self.boundary = boundary }

    mutating func append(_ part: FormPart, _ info: BlobInfo, heading: [UInt8], label: String) {
        let delimiter = (self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)\r\n"
        self.appendMemory(Array(delimiter.utf8) + heading)
        let source = MultipartPart(
            part.source, label: label, byteCount: part.byteCount ?? info.byteCount, info: info,
            boundary: self.boundary.isChosen ? self.boundary : nil)
        self.segments.append(source)
        // The bytes of a value are the same in each run of a program; the validator of its memory is not.
        if let value = part.value { self.hash(value) } else { self.validators.append(info.validator) }
    }

    mutating func finish(_ throttle: MultipartThrottle?) -> MultipartBody {
        self.appendMemory(Array(((self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)--\r\n").utf8))
        let validators = self.validators.compactMap(\.self)
        let recipe = "multipart-\(self.hasher.finalizeHexadecimal())"
        return MultipartBody(
            boundary: self.boundary, self.segments,
            validator: validators.count == self.validators.count ? .combined(recipe, validators) : nil,
            throttle: throttle)
    }

    private mutating func appendMemory(_ bytes: [UInt8]) {
        self.hash(bytes)
        self.segments.append(MemorySource(bytes))
    }

    private mutating func hash(_ bytes: [UInt8]) {
        // With their length, so that they cannot be confused with the bytes that follow.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { self.hasher.update($0) }
        bytes.withUnsafeBytes { self.hasher.update($0) }
    }
}
