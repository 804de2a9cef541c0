/// A piece of memory with bytes that wait.
final class Window: @unchecked Sendable {  // Safe: made by one thread, handed over, then used by one owner.
    private let memory: UnsafeMutableRawBufferPointer
    private var part = 0..<0

    init(_ byteCount: Int) { self.memory = .allocate(byteCount: byteCount, alignment: 16) }

    deinit { self.memory.deallocate() }

    var isEmpty: Bool { self.part.isEmpty }
    var count: Int { self.part.count }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.memory[self.part]) }

    /// One read into the whole memory, in place of what was in it.
    func fill(from reader: any BlobReader) throws -> BlobReadResult {
        var output = OutputRawSpan(buffer: self.memory, initializedCount: 0)
        let result = try reader.read(into: &output)
        self.part = 0..<output.finalize(for: self.memory)
        return result
    }

    /// Takes bytes from the front.
    func drop(_ count: Int) { self.part = (self.part.lowerBound + count)..<self.part.upperBound }

    /// Moves as many bytes as fit.
    func move(to output: inout OutputRawSpan) { self.drop(output.append(contentsOf: self.bytes)) }
}
