import BlobStreams

/// Bytes that were fetched and not yet taken; its memory exists once it is used.
struct ReadWindow {
    let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer?
    private var rest = 0..<0

    init(byteCount: Int) { self.capacity = byteCount }

    var isEmpty: Bool { self.rest.isEmpty }

    /// The memory, to be filled from the front while nothing is in it.
    mutating func allocated() -> UnsafeMutableRawBufferPointer {
        let memory = self.memory ?? .allocate(byteCount: self.capacity, alignment: 4096)
        self.memory = memory
        return memory
    }

    /// These bytes of the memory are to be taken now.
    mutating func fill(with range: Range<Int>) { self.rest = range }

    /// Appends as many bytes as there are and fit.
    mutating func take(into output: inout OutputRawSpan) {
        guard let memory, !self.rest.isEmpty else { return }
        let count = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[self.rest]))
        self.rest = (self.rest.lowerBound + count)..<self.rest.upperBound
    }

    /// Gives the memory back. Twice is fine.
    mutating func free() {
        self.memory?.deallocate()
        self.memory = nil
        self.rest = 0..<0
    }
}
