import BlobPlatform

/// Counts the bytes that pass, for progress.
public struct CountingSource: ForwardingSource {
    /// Told after each read: how many bytes it brought, the offset after it, and the byte count if known.
    public typealias OnBytes = @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void

    package let base: any BlobInputStreamDataSource
    private let onBytes: OnBytes

    /// Creates a layer over `base`. `onBytes` is called on the reading thread, and each reader counts for itself; the
    /// bytes also go to the event sink of the context.
    public init(_ base: any BlobInputStreamDataSource, onBytes: @escaping OnBytes) {
        self.base = base
        self.onBytes = onBytes
    }

    /// Opens a reader of the base and counts what it reads.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return CountingReader(reader) { count in
            self.onBytes(count, reader.byteOffset, reader.info.byteCount)
            context.eventSink?(.bytes(count))
        }
    }
}

package final class CountingReader: ForwardingReader {
    package let base: any BlobReader
    private let registration: BlobRegistration?
    private let onBytes: (Int) -> Void

    /// - Parameter registration: Kept until the reader is closed.
    package init(_ base: any BlobReader, _ registration: BlobRegistration? = nil, onBytes: @escaping (Int) -> Void) {
        self.base = base
        self.registration = registration
        self.onBytes = onBytes
    }

    package func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        var result = BlobReadResult.end
        let count = try output.append(atMost: .max) { result = try self.base.read(into: &$0) }
        if count > 0 { self.onBytes(count) }
        return result
    }

    package func close() {
        self.registration?.remove()
        self.base.close()
    }
}
