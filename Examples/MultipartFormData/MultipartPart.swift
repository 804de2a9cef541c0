import BlobStreams

/// The bytes of one part, held to what they were said to be when the body was made.
struct MultipartPart: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let label: String
    private let info: BlobInfo
    private let boundary: MultipartBoundary?

    /// - Parameter boundary: What must not be in the part; nil when it cannot be.
    init(
        _ base: any BlobInputStreamDataSource, label: String, byteCount: Int64?, validator: BlobValidator?,
        boundary: MultipartBoundary?
    ) {
        self.base = base
        self.label = label
        self.info = BlobInfo(byteCount: byteCount, validator: validator)
        self.boundary = boundary
    }

    var capabilities: BlobCapabilities { self.base.capabilities }

    func info(_ context: BlobContext) -> BlobInfo { self.info }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.info.check(byteOffset: byteOffset, matching: validator)
        // A boundary may begin before the offset.
        let patternByteCount = self.boundary.map { BoundaryScanner.pattern($0).count } ?? 1
        let lead = min(byteOffset, Int64(patternByteCount - 1))
        let start = byteOffset - lead
        do {
            let reader = PartReader(
                try self.base.pollableReader(at: start, matching: self.info.validator, context: context),
                label: self.label, info: self.info, at: start,
                self.boundary.map { BoundaryScanner($0, isAtStart: start == 0) })
            return SkippingReader(reader, bytesToSkip: lead)
        } catch {
            throw error.naming(self.label)
        }
    }
}

private final class PartReader: BlobReader {
    let info: BlobInfo
    private let base: BlobGuardedReader
    private let label: String
    private let derived: DerivedReadiness?
    private var byteOffset: Int64
    private var scanner: BoundaryScanner?
    private var failure: BlobError?

    init(_ base: BlobGuardedReader, label: String, info: BlobInfo, at byteOffset: Int64, _ scanner: BoundaryScanner?) {
        self.base = base
        self.label = label
        self.info = info
        self.byteOffset = byteOffset
        self.scanner = scanner
        self.derived = DerivedReadiness(following: base) { $0.naming(label) }
    }

    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        do {
            let room = self.info.byteCount.map { $0 - self.byteOffset } ?? .max
            let count = try room > 0 ? self.readPart(into: &output, atMost: room) : self.readSurplus()
            self.derived?.refresh(afterReading: count)
            if self.base.hasEnded { try self.end() }
        } catch {
            let failure = BlobError(wrapping: error).naming(self.label)
            self.failure = failure
            self.derived?.fail(failure)
            throw failure
        }
    }

    func close() {
        self.derived?.stop()
        self.base.close()
    }

    private func readPart(into output: inout OutputRawSpan, atMost room: Int64) throws -> Int {
        let count = try output.append(atMost: Int(clamping: room)) { part in
            try self.base.read(into: &part)
            guard let start = part.bytes.withUnsafeBytes({ self.scanner?.firstMatch(in: $0) }) else { return }
            throw BlobError(
                .invalidArgument, "The boundary of the form is in what the part holds: another one is needed.",
                operation: .read, byteOffset: self.byteOffset + Int64(start))
        }
        self.byteOffset += Int64(count)
        return count
    }

    /// All bytes that were declared are there: any other is one too many.
    private func readSurplus() throws -> Int {
        let surplus = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { try self.base.read(into: $0) }
        guard surplus == 0 else {
            throw BlobError(
                .sizeMismatch, "There are more bytes than the \(self.byteOffset) that were declared.",
                operation: .read, byteOffset: self.byteOffset)
        }
        return 0
    }

    private func end() throws {
        if let byteCount = self.info.byteCount, self.byteOffset != byteCount {
            throw BlobError(
                .truncated, "The end came after \(self.byteOffset) of \(byteCount) declared bytes.",
                operation: .read, byteOffset: self.byteOffset)
        }
        self.derived?.end()
    }
}
