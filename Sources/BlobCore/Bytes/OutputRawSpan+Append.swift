extension OutputRawSpan {
    /// Lends the next free bytes, at most `byteCount` of them, as an output of their own.
    ///
    /// The bytes that `body` appends count when it returns; when it throws, none of them do. For those that
    /// cap a read.
    ///
    /// - Parameters:
    ///   - byteCount: The maximum number of bytes to lend; fewer are lent when fewer are free.
    ///   - body: A closure that appends to the lent part.
    /// - Returns: The number of bytes that `body` appended.
    @discardableResult
    public mutating func append(
        atMost byteCount: Int, _ body: (inout OutputRawSpan) throws -> Void
    ) rethrows -> Int {
        try self.withUnsafeMutableBytes { buffer, initializedCount in
            let end = initializedCount + Swift.min(Swift.max(byteCount, 0), buffer.count - initializedCount)
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount..<end])
            var part = OutputRawSpan(buffer: free, initializedCount: 0)
            try body(&part)
            let appended = part.finalize(for: free)
            initializedCount += appended
            return appended
        }
    }

    /// Appends as many of `bytes` as fit, from the front.
    ///
    /// - Returns: The number of bytes appended.
    @discardableResult
    public mutating func append(contentsOf bytes: UnsafeRawBufferPointer) -> Int {
        self.withUnsafeMutableBytes { buffer, initializedCount in
            let count = Swift.min(bytes.count, buffer.count - initializedCount)
            UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
            initializedCount += count
            return count
        }
    }

    /// Keeps a range of the last `count` bytes, and moves it to where they began.
    mutating func keep(_ range: Range<Int>, ofLast count: Int) {
        self.withUnsafeMutableBytes { buffer, initializedCount in
            let start = initializedCount - count
            if range.lowerBound > 0, !range.isEmpty {
                UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(
                    from: UnsafeRawBufferPointer(
                        rebasing: buffer[(start + range.lowerBound)..<(start + range.upperBound)]))
            }
            initializedCount = start + range.count
        }
    }
}
