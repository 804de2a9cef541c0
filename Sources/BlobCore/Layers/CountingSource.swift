import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns this source with a layer that counts the bytes that pass, for progress.
    ///
    /// ```swift
    /// let counted = source.counting { count, byteOffset, byteCount in
    ///     print("\(byteOffset) of \(byteCount.map(String.init) ?? "unknown")")
    /// }
    /// ```
    ///
    /// - Parameter onBytes: A closure that is called after each read, on the reading thread, with the number of bytes
    ///   read, the offset after them, and the byte count if known. Each reader counts separately; the bytes are also
    ///   reported to the event sink of the context.
    public func counting(
        _ onBytes: @escaping @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void
    ) -> some BlobInputStreamDataSource {
        CountingSource(self, onBytes: onBytes)
    }
}

/// A layer that counts the bytes that pass.
package struct CountingSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let onBytes: @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void

    package init(
        _ base: any BlobInputStreamDataSource,
        onBytes: @escaping @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void
    ) {
        self.base = base
        self.onBytes = onBytes
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return CountingReader(reader) { count in
            self.onBytes(count, reader.byteOffset, reader.info.byteCount)
            context.eventSink?(BlobEvent(.bytes, Int64(count)))
        }
    }
}

package final class CountingReader: ForwardingReader {
    package let base: any BlobPluginReader
    private let registration: BlobRegistration?
    private let onBytes: (Int) -> Void

    /// - Parameter registration: A registration that is kept until the reader is closed.
    package init(
        _ base: any BlobPluginReader, _ registration: BlobRegistration? = nil, onBytes: @escaping (Int) -> Void
    ) {
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
        self.registration?.cancel()
        self.base.close()
    }
}
