import BlobCore
import BlobPlatform

/// The bytes of one part, checked against its length and validator as of the time the body was created.
struct MultipartPart: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let label: String
    private let info: BlobInfo
    private let boundary: MultipartBoundary?

    /// - Parameter boundary: The boundary to search for, which the part must not contain; nil for a random boundary.
    init(
        _ base: any BlobInputStreamDataSource, label: String, byteCount: Int64?, info: BlobInfo,
        boundary: MultipartBoundary?
    ) {
        self.base = base
        self.label = label
        self.info = BlobInfo(
            byteCount: byteCount, validator: info.validator, isRandomAccess: info.isRandomAccess)
        self.boundary = boundary
    }

    var traits: BlobTraits { self.base.traits }
    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let scanner = self.boundary.map { BoundaryScanner($0) }
        let start = opening.byteOffset - min(opening.byteOffset, Int64(scanner?.leadByteCount ?? 0))
        do {
            let base = try self.base.open(at: start, matching: self.info.validator, context: opening.context)
            return .inspected(
                base, PartCheck(label: self.label, info: self.info, byteOffset: start, scanner: scanner),
                startingAt: start)
        } catch {
            throw error.naming(self.label)
        }
    }
}

private struct PartCheck: BlobInspector {
    let label: String
    let info: BlobInfo
    var byteOffset: Int64
    var scanner: BoundaryScanner?

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    /// Reads one byte more than declared, to detect a surplus.
    func readLimit() -> BlobReadLimit { .bytes(max(self.info.byteCount.map { $0 - self.byteOffset } ?? .max, 1)) }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        if let fault = isLast ? self.faultAtEnd : self.fault(in: bytes) { throw fault.naming(self.label) }
        self.byteOffset += Int64(bytes.byteCount)
        return 0..<bytes.byteCount
    }

    func reportedError(_ error: BlobError) -> BlobError { error.naming(self.label) }

    private mutating func fault(in bytes: RawSpan) -> BlobError? {
        guard self.byteOffset != self.info.byteCount else {
            return BlobError(
                .sizeMismatch, "The part has more than the \(self.byteOffset) bytes that were declared.",
                operation: "read", byteOffset: self.byteOffset)
        }
        guard let match = bytes.withUnsafeBytes({ self.scanner?.firstMatch(in: $0) }) else { return nil }
        return BlobError(
            .invalidArgument, "The part contains the boundary of the form: use another boundary.",
            operation: "read", byteOffset: self.byteOffset + Int64(match))
    }

    private var faultAtEnd: BlobError? {
        guard let byteCount = self.info.byteCount, self.byteOffset != byteCount else { return nil }
        return BlobError(
            .truncated, "The part ends after \(self.byteOffset) of the \(byteCount) bytes that were declared.",
            operation: "read", byteOffset: self.byteOffset)
    }
}

/// Searches the bytes of a part, which arrive in pieces, for two hyphens and a boundary.
///
/// Finds them anywhere in the part. They end a part only at the beginning of a line (RFC 2046, section 5.1.1), but some
/// receivers let a line begin after a CR or an LF alone, some do not require a line at all, and many ignore the text
/// that follows.
struct BoundaryScanner {
    private let pattern: [UInt8]
    private var tail: [UInt8] = []  // The last bytes of earlier pieces, one fewer than the pattern has.

    init(_ boundary: MultipartBoundary) { self.pattern = Array("--\(boundary.text)".utf8) }

    /// The number of bytes before an offset in which a boundary that ends after the offset may begin.
    var leadByteCount: Int { self.pattern.count - 1 }

    /// Returns the offset in `bytes` of the first boundary that they complete, which is negative if the boundary begins
    /// in an earlier piece; nil if they complete no boundary.
    mutating func firstMatch(in bytes: UnsafeRawBufferPointer) -> Int? {
        let joint = self.tail + bytes.prefix(self.leadByteCount)
        if let match = joint.withUnsafeBytes(self.firstIndex) { return match - self.tail.count }
        let isShort = bytes.count < self.leadByteCount
        self.tail = isShort ? joint.suffix(self.leadByteCount) : Array(bytes.suffix(self.leadByteCount))
        return self.firstIndex(in: bytes)
    }

    private func firstIndex(in bytes: UnsafeRawBufferPointer) -> Int? {
        let startCount = bytes.count - self.pattern.count + 1
        guard startCount > 0, let start = bytes.baseAddress else { return nil }
        var index = 0
        while index < startCount, let hyphen = memchr(start + index, CInt(self.pattern[0]), startCount - index) {
            if memcmp(hyphen, self.pattern, self.pattern.count) == 0 { return UnsafeRawPointer(hyphen) - start }
            index = UnsafeRawPointer(hyphen) - start + 1
        }
        return nil
    }
}
