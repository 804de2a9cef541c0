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

    /// Fetches more, once all is used; `read` returns how many bytes it put in front.
    mutating func fill(_ read: (UnsafeMutableRawBufferPointer) throws -> Int) rethrows {
        let count = try read(self.memory)
        self.rest = UnsafeRawBufferPointer(rebasing: self.memory[..<count])
    }
}
