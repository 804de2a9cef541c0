/// A buffer for decoded bytes that one thread fills and another one then reads.
package final class SliceBuffer: @unchecked Sendable {  // Safe: handed from one thread to the next, never shared.
    private let memory: UnsafeMutableRawBufferPointer
    private var range = 0..<0

    package init(byteCount: Int) { self.memory = .allocate(byteCount: byteCount, alignment: 4096) }

    deinit { self.memory.deallocate() }

    package var capacity: Int { self.memory.count }
    package var isEmpty: Bool { self.range.isEmpty }

    /// Replaces the bytes with those that `body` appends.
    package func fill(_ body: (inout OutputRawSpan) throws -> Void) rethrows {
        self.range = 0..<0
        var output = OutputRawSpan(buffer: self.memory, initializedCount: 0)
        try body(&output)
        self.range = 0..<output.finalize(for: self.memory)
    }

    /// Calls `body` with the bytes.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(rebasing: self.memory[self.range]))
    }

    /// Removes bytes from the front.
    package func removeFirst(_ count: Int) { self.range = (self.range.lowerBound + count)..<self.range.upperBound }

    /// Removes and returns all bytes but the first `count`.
    package func split(after count: Int) -> [UInt8] {
        let end = min(self.range.lowerBound + count, self.range.upperBound)
        defer { self.range = self.range.lowerBound..<end }
        return Array(self.memory[end..<self.range.upperBound])
    }

    /// Moves bytes from the front to `output`, as many as fit.
    package func move(to output: inout OutputRawSpan) {
        self.removeFirst(output.append(contentsOf: UnsafeRawBufferPointer(rebasing: self.memory[self.range])))
    }
}

/// A pool of reusable buffers.
package final class SliceBuffers: Sendable {
    private let byteCount: Int
    private let free = Locked<[SliceBuffer]>([])

    package init(byteCount: Int) { self.byteCount = byteCount }

    package func take() -> SliceBuffer { self.free.withLock { $0.popLast() } ?? SliceBuffer(byteCount: self.byteCount) }
    package func giveBack(_ buffer: SliceBuffer) { self.free.withLock { $0.append(buffer) } }
}
