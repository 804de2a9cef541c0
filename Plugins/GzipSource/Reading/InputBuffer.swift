import BlobCore

/// A buffer for compressed bytes between the base and the decoder.
struct InputBuffer: ~Copyable {
    /// The size of the buffer in bytes: large enough that a read of the base costs little compared with the decoding.
    static let byteCount = 64 * 1024

    private let memory: UnsafeMutableRawBufferPointer

    /// The bytes that were fetched and are not consumed yet.
    var rest: UnsafeRawBufferPointer

    /// Creates a buffer.
    ///
    /// - Parameter beginning: The bytes that were fetched already.
    init(beginning: some Collection<UInt8> = EmptyCollection()) {
        self.memory = .allocate(byteCount: max(Self.byteCount, beginning.count), alignment: 64)
        self.memory.copyBytes(from: beginning)
        self.rest = UnsafeRawBufferPointer(rebasing: self.memory[..<beginning.count])
    }

    deinit { self.memory.deallocate() }

    /// Fetches at most `count` more bytes; called only when ``rest`` is empty.
    mutating func fill(
        atMost count: Int = Self.byteCount, _ read: (inout OutputRawSpan) throws -> BlobReadResult
    ) rethrows -> BlobReadResult {
        let memory = UnsafeMutableRawBufferPointer(rebasing: self.memory.prefix(count))
        var output = OutputRawSpan(buffer: memory, initializedCount: 0)
        let result = try read(&output)
        self.rest = UnsafeRawBufferPointer(rebasing: memory[..<output.finalize(for: memory)])
        return result
    }
}
