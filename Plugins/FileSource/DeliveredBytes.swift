import BlobStreams

/// The bytes that a reader delivered last, kept to be compared with the file when it has grown.
struct DeliveredBytes {
    /// The most bytes that are compared: those of a page.
    static let byteCount = 4096

    /// Up to twice as many bytes as are compared, so that short reads do not move them each time.
    private var bytes: [UInt8] = []
    private var end: Int64 = 0

    /// Adds the bytes of a read at `byteOffset`. Those before a gap are forgotten.
    mutating func append(_ newBytes: UnsafeRawBufferPointer, at byteOffset: Int64) {
        if byteOffset != self.end || newBytes.count >= Self.byteCount {
            self.bytes.removeAll(keepingCapacity: true)
        } else if self.bytes.count + newBytes.count > 2 * Self.byteCount {
            self.bytes.removeFirst(self.bytes.count + newBytes.count - Self.byteCount)
        }
        self.bytes.append(contentsOf: newBytes.suffix(Self.byteCount))
        self.end = byteOffset + Int64(newBytes.count)
    }

    /// Reads the bytes again.
    ///
    /// - Throws: ``BlobError/Code/changed`` when they are different now.
    func compare(with file: FileDescriptor) throws(BlobError) {
        let expected = self.bytes.suffix(Self.byteCount)
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
