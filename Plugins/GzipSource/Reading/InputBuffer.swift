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

    /// Fetches more bytes; called only when ``rest`` is empty.
    mutating func fill(_ read: (inout OutputRawSpan) throws -> BlobReadResult) rethrows -> BlobReadResult {
        var output = OutputRawSpan(buffer: self.memory, initializedCount: 0)
        let result = try read(&output)
        self.rest = UnsafeRawBufferPointer(rebasing: self.memory[..<output.finalize(for: self.memory)])
        return result
    }
}
