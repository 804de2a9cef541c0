import BlobCore

/// A window of bytes that were fetched and not yet delivered. Allocates its memory when it is first used.
struct ReadWindow: ~Copyable {
    let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer?
    private var rest = 0..<0

    init(byteCount: Int) { self.capacity = byteCount }

    deinit { self.memory?.deallocate() }

    var isEmpty: Bool { self.rest.isEmpty }

    /// Returns the memory, to be filled while the window is empty.
    mutating func allocated() -> UnsafeMutableRawBufferPointer {
        let memory = self.memory ?? .allocate(byteCount: self.capacity, alignment: 4096)
        self.memory = memory
        return memory
    }

    /// Sets the bytes of the window to this range of the memory.
    mutating func fill(with range: Range<Int>) { self.rest = range }

    /// Moves bytes from the front of the window to `output`, as many as fit.
    mutating func take(into output: inout OutputRawSpan) {
        guard let memory, !self.rest.isEmpty else { return }
        let count = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[self.rest]))
        self.rest = (self.rest.lowerBound + count)..<self.rest.upperBound
    }
}
