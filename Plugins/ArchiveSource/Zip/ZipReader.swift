import BlobCore
import BlobDeflate

/// Reads a stored or deflated member of a zip, and checks its length and checksum before its end.
final class ZipReader: BlobPluginReader {
    /// The compression methods that this reader decodes (APPNOTE.TXT 4.4.5).
    enum Method: UInt16 {
        case stored = 0
        case deflated = 8
    }

    let info: BlobInfo
    private let method: Method
    private let context: BlobContext
    private let dataStart: Int64
    private var scanner: ArchiveScanner?
    private var lease: ZipPass.Lease?
    private var inflater: Inflater?
    private var isInflated = false
    /// The range of the compressed bytes that are not read yet.
    private var data: Range<Int64>
    private var sum: ZipEntrySum
    private var isAtEnd = false
    private var failure: BlobError?

    init(
        _ found: ZipSearch.Found, _ method: Method, info: BlobInfo, _ context: BlobContext
    ) throws(BlobError) {
        // Without a length, the one in the directory may be wrapped.
        self.sum = ZipEntrySum(found.entry, isWrapped: info.byteCount == nil)
        (self.context, self.dataStart) = (context, found.data.lowerBound)
        self.info = info
        self.method = method
        self.scanner = found.scanner
        self.lease = found.lease
        self.data = found.data
        if method == .stored, found.entry.compressedByteCount != found.entry.byteCount {
            throw BlobError(
                .inconsistent,
                "The member is stored as it is, in \(found.entry.compressedByteCount) bytes, "
                    + "and should have \(found.entry.byteCount).", byteOffset: found.entry.localOffset)
        }
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        guard !self.isAtEnd else { return .end }
        let start = output.byteCount
        do {
            try self.readOn(&output)
        } catch {
            self.leave(for: error)
            // The bytes before the fault are delivered first; the next read throws.
            if output.byteCount == start { throw error }
        }
        return output.byteCount > start ? .bytes : .end
    }

    func close() { self.leave(for: BlobError(.closed, "The reader is closed.")) }

    private func leave(for failure: BlobError?) {
        self.failure = failure
        self.isAtEnd = failure == nil
        self.scanner = nil
        self.lease = nil
        self.inflater = nil
    }

    private func readOn(_ output: inout OutputRawSpan) throws(BlobError) {
        let start = output.byteCount
        var isDone = false
        var failure: BlobError?
        do throws(BlobError) {
            switch self.method {
            case .stored: isDone = try self.copy(into: &output)
            case .deflated: isDone = try self.inflate(into: &output)
            }
        } catch {
            failure = error
        }
        let appended = output.byteCount - start
        let fits = output.bytes.withUnsafeBytes { self.sum.append(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard fits else {
            output.removeLast(appended)
            throw self.sum.isTooLong
        }
        if let failure { throw failure }
        guard isDone else { return }
        try self.sum.checkEnd()
        // Appended bytes are delivered first; the next read repeats the check and reports the end.
        if appended == 0 {
            self.leave(for: nil)
            self.sum.reportEnd(self.context)
        }
    }

    /// Copies stored bytes; returns true at the end of the member.
    private func copy(into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        guard let scanner, !self.data.isEmpty else { return true }
        let bytes = try scanner.some(at: self.data.lowerBound, atMost: Int64(self.data.count))
        guard !bytes.isEmpty else { throw self.isTruncated }
        let count = output.append(contentsOf: bytes)
        self.data = (self.data.lowerBound + Int64(count))..<self.data.upperBound
        return false
    }

    /// Inflates bytes; returns true at the end of the member.
    private func inflate(into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        guard let scanner, !self.isInflated else { return true }
        try self.context.checkRatio(
            ofDecoded: self.sum.byteOffset, to: self.data.lowerBound - self.dataStart)
        if self.inflater == nil { self.inflater = try Inflater() }
        let start = output.byteCount
        while output.byteCount == start {
            let lent = try scanner.some(at: self.data.lowerBound, atMost: Int64(self.data.count))
            guard !lent.isEmpty || self.data.isEmpty else { throw self.isTruncated }
            var rest = lent
            self.isInflated = try self.decode(&rest, into: &output)
            self.data = (self.data.lowerBound + Int64(lent.count - rest.count))..<self.data.upperBound
            if self.isInflated {
                guard self.data.isEmpty else { throw Self.endsEarly(at: self.data.lowerBound) }
                return output.byteCount == start
            }
            guard !lent.isEmpty || output.byteCount > start else { throw Self.endsLate(at: self.data.lowerBound) }
        }
        return false
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

    private var isTruncated: BlobError {
        BlobError(.truncated, "The archive ends within the member.", byteOffset: self.data.lowerBound)
    }

    static func endsEarly(at byteOffset: Int64) -> BlobError {
        BlobError(
            .inconsistent, "The deflate data of the member end before their declared end.", byteOffset: byteOffset)
    }

    static func endsLate(at byteOffset: Int64) -> BlobError {
        BlobError(
            .truncated, "The deflate data of the member go on behind their declared end.", byteOffset: byteOffset)
    }
}
