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
        CountingSource(base: self, onBytes: onBytes)
    }
}

/// A layer that counts the bytes that pass.
private struct CountingSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let onBytes: @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void

    func inspector(_ opening: BlobOpening) -> (any BlobInspector)? {
        Counter(layer: self, sink: opening.context.eventSink)
    }
}

private struct Counter: BlobInspector {
    let layer: CountingSource
    let sink: (@Sendable (BlobEvent) -> Void)?
    var byteCount: Int64?

    mutating func info(of base: BlobInfo) -> BlobInfo {
        self.byteCount = base.byteCount
        return base
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        if isLast { return 0..<0 }
        self.layer.onBytes(bytes.byteCount, byteOffset + Int64(bytes.byteCount), self.byteCount)
        self.sink?(BlobEvent(.bytes, Int64(bytes.byteCount)))
        return 0..<bytes.byteCount
    }
}
