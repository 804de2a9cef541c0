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

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let sink = opening.context.eventSink
        let counter = ByteCounter { count, byteOffset, byteCount in
            self.onBytes(count, byteOffset, byteCount)
            sink?(BlobEvent(.bytes, Int64(count)))
        }
        return .inspected(try self.base.open(opening), counter, startingAt: opening.byteOffset)
    }
}

/// Counts the bytes that pass.
package struct ByteCounter: BlobInspector {
    private let onBytes: (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void
    private var byteCount: Int64?

    /// - Parameter onBytes: Called after each read with the number of bytes, the offset after them, and the length of
    ///   the whole if known.
    package init(_ onBytes: @escaping (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void) {
        self.onBytes = onBytes
    }

    package mutating func info(of base: BlobInfo) -> BlobInfo {
        self.byteCount = base.byteCount
        return base
    }

    package func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        if !isLast { self.onBytes(bytes.byteCount, byteOffset + Int64(bytes.byteCount), self.byteCount) }
        return 0..<bytes.byteCount
    }
}
