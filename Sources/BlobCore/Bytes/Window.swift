import BlobPlatform

/// A block of memory with bytes that were read and not yet consumed.
package final class Window: @unchecked Sendable {  // Safe: has one owner at a time, which changes no lent bytes.
    private var memory: UnsafeMutableRawBufferPointer
    private var part = 0..<0

    package init(_ byteCount: Int) {
        self.memory = UnsafeMutableRawBufferPointer(start: malloc(byteCount), count: byteCount)
    }

    deinit { free(self.memory.baseAddress) }

    /// The size of the memory in bytes.
    package var capacity: Int { self.memory.count }
    package var isEmpty: Bool { self.part.isEmpty }
    package var count: Int { self.part.count }
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.memory[self.part]) }

    /// Replaces the contents with the bytes that `body` appends.
    package func fill<Result>(_ body: (inout OutputRawSpan) throws -> Result) rethrows -> Result {
        self.part = 0..<0
        return try self.append(body)
    }

    /// Moves the contents to the start of the memory, and adds the bytes that `body` appends.
    package func append<Result>(_ body: (inout OutputRawSpan) throws -> Result) rethrows -> Result {
        if self.part.lowerBound > 0 {
            self.memory.copyMemory(from: self.bytes)
            self.part = 0..<self.part.count
        }
        let free = UnsafeMutableRawBufferPointer(rebasing: self.memory[self.part.upperBound...])
        var output = OutputRawSpan(buffer: free, initializedCount: 0)
        let result = try body(&output)
        self.part = 0..<(self.part.upperBound + output.finalize(for: free))
        return result
    }

    /// Frees the memory that a short read left unused, if it is more than half of the memory.
    package func trim() {
        let end = self.part.upperBound
        guard end < self.memory.count / 2, let memory = realloc(self.memory.baseAddress, max(end, 1)) else { return }
        self.memory = UnsafeMutableRawBufferPointer(start: memory, count: end)
    }

    /// Removes bytes from the front.
    package func drop(_ count: Int) { self.part = (self.part.lowerBound + count)..<self.part.upperBound }

    /// Moves as many bytes as fit from the front of the contents.
    ///
    /// - Returns: The number of bytes moved.
    package func move(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(self.count, buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.bytes.prefix(count)))
        self.drop(count)
        return count
    }

    /// Moves as many bytes as fit from the front of the contents.
    package func move(to output: inout OutputRawSpan) { self.drop(output.append(contentsOf: self.bytes)) }
}

/// A pool of windows that reuses their memory.
package final class WindowPool: Sendable {
    private let byteCount: Int
    private let freeWindows = Locked<[Window]>([])

    package init(byteCount: Int) { self.byteCount = byteCount }

    package func makeWindow() -> Window { self.freeWindows.withLock { $0.popLast() } ?? Window(self.byteCount) }
    package func recycle(_ window: Window) { self.freeWindows.withLock { $0.append(window) } }
}
