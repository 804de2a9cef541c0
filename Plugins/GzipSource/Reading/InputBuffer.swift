import BlobStreams

/// Memory for compressed bytes on their way from the base to the decoder.
struct InputBuffer: ~Copyable {
    /// Large enough that a call of the base costs little beside decoding what it brought.
    static let byteCount = 64 * 1024

    private let memory: UnsafeMutableRawBufferPointer

    /// What was fetched and is not used yet.
    var rest: UnsafeRawBufferPointer

    /// - Parameter beginning: What was fetched already.
    init(beginning: some Collection<UInt8> = EmptyCollection()) {
        self.memory = .allocate(byteCount: max(Self.byteCount, beginning.count), alignment: 64)
        self.memory.copyBytes(from: beginning)
        self.rest = UnsafeRawBufferPointer(rebasing: self.memory[..<beginning.count])
    }

    deinit { self.memory.deallocate() }

    /// Fetches more, once all is used.
    mutating func fill(_ read: (inout OutputRawSpan) throws -> BlobReadResult) rethrows -> BlobReadResult {
        var output = OutputRawSpan(buffer: self.memory, initializedCount: 0)
        let result = try read(&output)
        self.rest = UnsafeRawBufferPointer(rebasing: self.memory[..<output.finalize(for: self.memory)])
        return result
    }
}
