import BlobStreams
import Foundation

/// One pass of decoding over a reader of the compressed bytes.
final class GzipReader: BlobReader {
    private let base: BlobGuardedReader
    private let format: GzipSource.Format
    private let locator: BlobLocator?
    private let decodedInfo: (BlobInfo) -> BlobInfo
    private let derived: DerivedReadiness?
    private var decoder: FrameDecoder?  // From the first read on.
    private var input: InputBuffer?
    private var isAtEnd = false
    private var failure: (any Error)?

    /// - Parameters:
    ///   - base: At the start of the compressed bytes; this reader owns it now.
    ///   - locator: What the offsets of errors are offsets in.
    ///   - info: Makes the info of the decoded bytes from that of the base, which may become known late.
    init(
        _ base: BlobGuardedReader, _ format: GzipSource.Format, locator: BlobLocator?,
        info: @escaping (BlobInfo) -> BlobInfo
    ) {
        self.base = base
        self.format = format
        self.locator = locator
        self.decodedInfo = info
        self.derived = DerivedReadiness(following: base)
    }

    var info: BlobInfo { self.decodedInfo(self.base.info) }
    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state }
    func property(forKey key: Stream.PropertyKey) -> Any? { self.base.property(forKey: key) }
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.base.setProperty(value, forKey: key)
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        guard !self.isAtEnd else { return }
        let start = output.byteCount
        do {
            try self.decode(into: &output)
        } catch {
            self.failure = error
            self.derived?.fail(error)
            // The bytes before the fault are good and come first; the next read throws.
            if output.byteCount == start { throw error }
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.derived?.stop()
        self.base.close()
        self.decoder = nil
        self.input = nil
    }

    private func decode(into output: inout OutputRawSpan) throws {
        if self.decoder == nil {
            self.decoder = try FrameDecoder(self.format)
            self.input = InputBuffer()
        }
        let start = output.byteCount
        repeat {
            try self.step(into: &output)
            // What there is comes first, before the base is made to wait for more.
            guard output.byteCount == start else { break }
        } while try self.refill()
        guard !self.isAtEnd else { return }
        self.derived?.refresh(
            afterReading: output.byteCount - start, holdingBytes: output.freeCapacity == 0)
    }

    private func step(into output: inout OutputRawSpan) throws {
        do throws(BlobError) {
            guard var rest = self.input?.rest else { return }
            defer { self.input?.rest = rest }
            try self.decoder?.decode(&rest, into: &output)
        } catch {
            throw self.located(error)
        }
    }

    /// Fetches compressed bytes; false at the end, or when an event-driven base has none for now.
    private func refill() throws -> Bool {
        try self.input?.fill { try self.base.read(into: $0) }
        guard self.input?.rest.isEmpty ?? true else { return true }
        guard self.base.hasEnded else { return false }
        do throws(BlobError) {
            try self.decoder?.finish()
        } catch {
            throw self.located(error)
        }
        self.isAtEnd = true
        self.derived?.end()
        return false
    }

    private func located(_ error: BlobError) -> BlobError {
        var error = error
        error.locator = self.locator?.description
        return error
    }
}
