import BlobCore

/// The bytes of one part, checked against the length and the validator that it had when the body was made.
struct MultipartPart: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let label: String
    private let info: BlobInfo
    private let boundary: MultipartBoundary?

    /// - Parameter boundary: The boundary to search for, which the part must not contain; nil for a random one.
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

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.info.check(byteOffset: byteOffset, matching: validator)
        let scanner = self.boundary.map { BoundaryScanner($0) }
        let lead = min(byteOffset, Int64(scanner?.leadByteCount ?? 0))
        let start = byteOffset - lead
        do {
            let reader = PartReader(
                try self.base.open(at: start, matching: self.info.validator, context: context),
                label: self.label, info: self.info, at: start, scanner)
            return reader.skipping(lead)
        } catch {
            throw error.naming(self.label)
        }
    }
}

private final class PartReader: BlobPluginReader {
    let info: BlobInfo
    private let base: BlobReader
    private let label: String
    private var byteOffset: Int64
    private var scanner: BoundaryScanner?
    private var failure: BlobError?

    init(_ base: BlobReader, label: String, info: BlobInfo, at byteOffset: Int64, _ scanner: BoundaryScanner?) {
        self.base = base
        self.label = label
        self.info = info
        self.byteOffset = byteOffset
        self.scanner = scanner
    }

    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            let room = self.info.byteCount.map { $0 - self.byteOffset } ?? .max
            let result = try room > 0 ? self.readPart(into: &output, atMost: room) : self.readSurplus()
            if result == .end { try self.checkEnd() }
            return result
        } catch {
            let failure = BlobError(wrapping: error).naming(self.label)
            self.failure = failure
            throw failure
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }

    func close() { self.base.close() }

    private func readPart(into output: inout OutputRawSpan, atMost room: Int64) throws -> BlobReadResult {
        let before = output.byteCount
        let result = try self.base.read(into: &output, atMost: Int(clamping: room))
        let match = output.bytes.withUnsafeBytes { bytes in
            self.scanner?.firstMatch(in: UnsafeRawBufferPointer(rebasing: bytes[before...]))
        }
        if let match {
            throw BlobError(
                .invalidArgument, "The part contains the boundary of the form: another one is needed.",
                operation: "read", byteOffset: self.byteOffset + Int64(match))
        }
        self.byteOffset += Int64(output.byteCount - before)
        return result
    }

    /// Reads past the declared length, where any byte is a surplus.
    private func readSurplus() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try self.base.read(into: &output)
            guard output.finalize(for: buffer) == 0 else {
                throw BlobError(
                    .sizeMismatch, "There are more bytes than the \(self.byteOffset) that were declared.",
                    operation: "read", byteOffset: self.byteOffset)
            }
            return result
        }
    }

    private func checkEnd() throws {
        guard let byteCount = self.info.byteCount, self.byteOffset != byteCount else { return }
        throw BlobError(
            .truncated, "The end came after \(self.byteOffset) of \(byteCount) declared bytes.",
            operation: "read", byteOffset: self.byteOffset)
    }
}
