import BlobStreams

/// The bytes that a reader delivered last, kept to be compared with the file when it has grown.
struct DeliveredBytes: ~Copyable {
    /// The most bytes that are compared: those of a page.
    static let byteCount = 4096

    private let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer?
    private var count = 0
    private var end: Int64 = 0

    /// - Parameter fileByteCount: How many bytes there will be, all in all.
    init(fileByteCount: Int64) {
        // Twice as many as are compared, so that short reads do not move them each time.
        self.capacity = min(2 * Self.byteCount, Int(clamping: fileByteCount))
    }

    deinit { self.memory?.deallocate() }

    /// Adds the bytes of a read at `byteOffset`. Those before a gap are forgotten.
    ///
    /// - Complexity: A copy of a page at most.
    mutating func append(_ newBytes: UnsafeRawBufferPointer, at byteOffset: Int64) {
        let memory = self.memory ?? .allocate(byteCount: self.capacity, alignment: 16)
        self.memory = memory
        let added = UnsafeRawBufferPointer(rebasing: newBytes.suffix(Self.byteCount))
        if byteOffset != self.end || added.count == Self.byteCount {
            self.count = 0
        } else if self.count + added.count > memory.count {
            let kept = Self.byteCount - added.count
            memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[(self.count - kept)..<self.count]))
            self.count = kept
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[self.count...]).copyMemory(from: added)
        self.count += added.count
        self.end = byteOffset + Int64(newBytes.count)
    }

    /// Reads the bytes again.
    ///
    /// - Throws: ``BlobError/Code/changed`` when they are different now.
    func compare(with file: FileDescriptor) throws(BlobError) {
        guard let memory else { return }
        let expected = memory[..<self.count].suffix(Self.byteCount)
        var offset = self.end - Int64(expected.count)
        try withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 16) { buffer throws(BlobError) in
            var rest = expected
            while !rest.isEmpty {
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<rest.count])
                let count = try file.read(into: part, at: offset) ?? 0
                guard count > 0, part.prefix(count).elementsEqual(rest.prefix(count)) else {
                    throw BlobError(
                        .changed,
                        "The file was rewritten while it was read: the \(expected.count) bytes before byte \(self.end) "
                            + "are others now.")
                }
                rest = rest.dropFirst(count)
                offset += Int64(count)
            }
        }
    }
}
