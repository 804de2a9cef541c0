import BlobCore

/// The bytes that a reader delivered last, kept for comparison with the file after it has grown.
struct DeliveredBytes: ~Copyable {
    /// The maximum number of bytes that are compared: one page.
    static let byteCount = 4096

    private let capacity: Int
    private var memory: UnsafeMutableRawBufferPointer?
    private var count = 0
    private var end: Int64 = 0

    /// - Parameter fileByteCount: The length of the file in bytes.
    init(fileByteCount: Int64) {
        // Twice the number compared, so that short reads do not move the bytes each time.
        self.capacity = min(2 * Self.byteCount, Int(clamping: fileByteCount))
    }

    deinit { self.memory?.deallocate() }

    /// Adds the bytes of a read at `byteOffset`, and drops the earlier ones when there is a gap before it.
    ///
    /// - Complexity: Copies at most one page.
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

    /// Reads the bytes again from the file, and compares them.
    ///
    /// - Throws: ``BlobError/Code/changed`` when they differ.
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
                            + "have changed.")
                }
                rest = rest.dropFirst(count)
                offset += Int64(count)
            }
        }
    }
}
