import BlobCore
import BlobDeflate

/// A stream of the bytes of a stored or deflated member of a zip, which verifies length and checksum before the end.
final class ZipStream: BlobByteStream {
    /// The compression methods that this stream decodes (APPNOTE.TXT 4.4.5).
    enum Method: UInt16 {
        case stored = 0
        case deflated = 8
    }

    let info: BlobInfo?
    private let method: Method
    private let context: BlobContext
    private let dataStart: Int64
    /// The scanner and the lease of a pass; nil when they are no longer needed, so that the pass can reuse them.
    private var scanner: ArchiveScanner?
    private var lease: ZipPass.Lease?
    private var inflater: Inflater?
    private var isInflated = false
    /// The range of the unread compressed bytes.
    private var data: Range<Int64>
    private var sum: ZipEntrySum
    /// The error that the next read throws; nil if the last read did not fail.
    private var failure: BlobError?

    init(
        _ found: ZipSearch.FoundEntry, _ method: Method, info: BlobInfo, _ context: BlobContext
    ) throws(BlobError) {
        // Without a length in the info, the length in the directory may be modulo 2^32.
        self.sum = ZipEntrySum(found.entry, isWrapped: info.byteCount == nil)
        (self.info, self.method, self.context) = (info, method, context)
        (self.scanner, self.lease) = (found.scanner, found.lease)
        (self.data, self.dataStart) = (found.data, found.data.lowerBound)
        if method == .stored, found.entry.compressedByteCount != found.entry.byteCount {
            throw BlobError(
                .inconsistent,
                "The member is stored without compression in \(found.entry.compressedByteCount) bytes, "
                    + "but should have \(found.entry.byteCount).", byteOffset: found.entry.localOffset)
        }
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        let start = output.byteCount
        do throws(BlobError) {
            switch self.method {
            case .stored: try self.copy(into: &output)
            case .deflated: try self.inflate(into: &output)
            }
        } catch {
            // The bytes before the error are valid and are delivered first; the next read throws.
            guard output.byteCount > start else { throw error }
            self.failure = error
        }
        try output.bytes.withUnsafeBytes { try self.sum.append(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard output.byteCount == start else { return .bytes }
        try self.sum.end(self.context)
        self.close()
        return .end
    }

    func close() {
        (self.scanner, self.lease) = (nil, nil)
        self.inflater = nil
    }

    /// Copies stored bytes; appends nothing at the end of the member.
    private func copy(into output: inout OutputRawSpan) throws(BlobError) {
        guard let scanner, !self.data.isEmpty else { return }
        let bytes = try scanner.availableBytes(at: self.data.lowerBound, atMost: Int64(self.data.count))
        guard !bytes.isEmpty else { throw self.truncationError }
        let count = output.append(contentsOf: bytes)
        self.data = (self.data.lowerBound + Int64(count))..<self.data.upperBound
    }

    /// Inflates bytes; appends nothing at the end of the member.
    private func inflate(into output: inout OutputRawSpan) throws(BlobError) {
        guard let scanner, !self.isInflated else { return }
        try self.context.checkRatio(ofDecoded: self.sum.byteOffset, to: self.data.lowerBound - self.dataStart)
        if self.inflater == nil { self.inflater = try Inflater() }
        let start = output.byteCount
        while output.byteCount == start, !self.isInflated {
            let lent = try scanner.availableBytes(at: self.data.lowerBound, atMost: Int64(self.data.count))
            guard !lent.isEmpty || self.data.isEmpty else { throw self.truncationError }
            var rest = lent
            self.isInflated = try self.decode(&rest, into: &output)
            self.data = (self.data.lowerBound + Int64(lent.count - rest.count))..<self.data.upperBound
            if self.isInflated, !self.data.isEmpty { throw Self.earlyEndError(at: self.data.lowerBound) }
            guard self.isInflated || !lent.isEmpty || output.byteCount > start else {
                throw Self.lateEndError(at: self.data.lowerBound)
            }
        }
    }

    private func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let count = input.count
        do throws(BlobError) {
            return try self.inflater?.decode(&input, into: &output) ?? true
        } catch {
            var error = error
            error.byteOffset = self.data.lowerBound + Int64(count - input.count)
            throw error
        }
    }

    private var truncationError: BlobError { .truncatedMemberError(at: self.data.lowerBound) }

    static func earlyEndError(at byteOffset: Int64) -> BlobError {
        BlobError(
            .inconsistent, "The deflate data of the member ends before its declared end.", byteOffset: byteOffset)
    }

    static func lateEndError(at byteOffset: Int64) -> BlobError {
        BlobError(
            .truncated, "The deflate data of the member continues after its declared end.", byteOffset: byteOffset)
    }
}

/// The length and the checksum of the bytes read from a member, for comparison with the directory.
struct ZipEntrySum {
    private let entry: ZipEntry
    /// True if the length in the directory may be modulo 2^32.
    private let isWrapped: Bool
    /// The offset in the member after the last appended byte.
    private(set) var byteOffset: Int64
    private var checksum = CRC32()

    /// - Parameters:
    ///   - byteOffset: The offset in the member of the first byte that will be appended.
    ///   - isWrapped: True to accept a length that equals the length in the directory modulo 2^32.
    init(_ entry: ZipEntry, at byteOffset: Int64 = 0, isWrapped: Bool = false) {
        self.entry = entry
        self.isWrapped = isWrapped
        self.byteOffset = byteOffset
    }

    /// Appends the next bytes.
    ///
    /// - Throws: ``BlobError/Code/sizeMismatch`` if the member is now longer than in the directory.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard self.isWrapped || Int64(bytes.count) <= self.entry.byteCount - self.byteOffset else {
            throw BlobError(
                .sizeMismatch, "The member has more than the \(self.entry.byteCount) bytes stated in the archive.")
        }
        self.byteOffset += Int64(bytes.count)
        self.checksum.update(bytes)
    }

    /// Compares the appended bytes with the directory at the end of the member, and reports the check.
    ///
    /// - Parameter hasAllBytes: False if the first bytes were not appended, so that the checksum cannot be compared.
    func end(hasAllBytes: Bool = true, _ context: BlobContext) throws(BlobError) {
        let hasLength =
            self.byteOffset == self.entry.byteCount
            || self.isWrapped && self.byteOffset & 0xFFFF_FFFF == self.entry.byteCount
        guard hasLength else {
            throw BlobError(
                .sizeMismatch,
                "The member ends after \(self.byteOffset) of the \(self.entry.byteCount) bytes stated in the archive."
            )
        }
        guard hasAllBytes else { return }
        try self.checksum.check(self.entry.hasChecksum ? self.entry.checksum : nil, in: "the archive")
        context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: self.byteOffset, check: self.entry.check)
    }
}
