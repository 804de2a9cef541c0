import BlobStreams
import CryptoDigest
import Foundation

/// Composes `multipart/form-data` (RFC 7578): parts are appended, and ``body(boundary:context:)`` makes the body of
/// them.
///
/// ```swift
/// var form = MultipartForm()
/// try form.appendPart(value: "Holidays", name: "title")
/// try form.appendPart(fileURL: photo, name: "photo")
/// let body = try form.body()
/// ```
///
/// Nothing is read until the body is; no part is ever in memory as a whole, or in a temporary file. Several files of
/// one field are several parts of one name.
public struct MultipartForm: Sendable {
    /// How names are written.
    public let naming: MultipartNaming
    private var parts: [FormPart] = []

    /// Creates a form without parts.
    public init(naming: MultipartNaming = MultipartNaming()) { self.naming = naming }

    /// How many parts there are.
    public var partCount: Int { self.parts.count }

    /// The body of all parts so far, fixed for good: how long each is, what it is called, and that it does not change.
    ///
    /// Asks each part what is known of it, which may block, and reads none.
    ///
    /// - Parameters:
    ///   - boundary: One of one's own makes bodies of the same parts have the same bytes. They then look for it in what
    ///     they send, and fail when a part holds it.
    ///   - context: The terms of asking.
    /// - Throws: What asking throws, ``BlobError/Code/invalidArgument`` and ``BlobError/Code/limitExceeded`` for names
    ///   that sources have; the message says which part it is.
    public func body(
        boundary: MultipartBoundary = .random(), context: BlobContext = BlobContext()
    ) throws(BlobError) -> MultipartBody {
        var assembly = Assembly(boundary)
        for (index, part) in self.parts.enumerated() {
            let label = "Part \(index + 1) of \(self.parts.count)" + (part.name.map { " ('\($0)')" } ?? "")
            do {
                let info = try part.source.checkedInfo(context)
                assembly.append(part, info, heading: try part.header(info, self.naming), label: label)
            } catch {
                throw error.naming(label)
            }
        }
        return assembly.finish()
    }

    /// Appends a part whose names are all right, as far as they are known yet.
    mutating func append(_ part: FormPart) throws(BlobError) {
        // Checked without the facts of the source, which is not asked yet.
        _ = try part.header(BlobInfo(), self.naming)
        self.parts.append(part)
    }
}

/// A body in the making: memory between the parts, and the identity of it all.
private struct Assembly {
    private let boundary: MultipartBoundary
    private var segments: [any BlobInputStreamDataSource] = []
    private var validators: [BlobValidator?] = []
    private var hasher = CryptoDigest.sha256.makeHasher()

    init(_ boundary: MultipartBoundary) { self.boundary = boundary }

    mutating func append(_ part: FormPart, _ info: BlobInfo, heading: [UInt8], label: String) {
        let delimiter = (self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)\r\n"
        self.appendGlue(Array(delimiter.utf8) + heading)
        let source = MultipartPart(
            part.source, label: label, byteCount: part.byteCount ?? info.byteCount, validator: info.validator,
            boundary: self.boundary.isChosen ? self.boundary : nil)
        self.segments.append(source)
        // A value is the same in each run of a program, other than the identity of its memory.
        if let value = part.value { self.hash(value) } else { self.validators.append(info.validator) }
    }

    mutating func finish() -> MultipartBody {
        self.appendGlue(Array(((self.segments.isEmpty ? "" : "\r\n") + "--\(self.boundary.text)--\r\n").utf8))
        let validators = self.validators.compactMap(\.self)
        let recipe = "multipart-\(self.hasher.finalize().hexadecimal)"
        return MultipartBody(
            boundary: self.boundary, ConcatenatedSource(self.segments),
            validator: validators.count == self.validators.count ? .combined(recipe, validators) : nil)
    }

    private mutating func appendGlue(_ bytes: [UInt8]) {
        self.hash(bytes)
        self.segments.append(MemorySource(bytes))
    }

    private mutating func hash(_ bytes: [UInt8]) {
        // With its length, so that what follows cannot be taken for a part of it.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { self.hasher.update($0) }
        bytes.withUnsafeBytes { self.hasher.update($0) }
    }
}
