/// Immutable bytes in memory that several owners may share.
public struct BlobBytes: @unchecked Sendable {  // Safe: the bytes are not written to while the owner lives.
    /// The bytes; valid as long as this value, or a copy of it, exists.
    package private(set) var bytes: UnsafeRawBufferPointer
    private let owner: any AnyObject & Sendable
    /// True if no other owner can access these bytes, now or later.
    package private(set) var isExclusive: Bool

    private let onDelivery: (@Sendable (Int) -> Void)?

    /// Creates a value for bytes that other owners may also read, and that do not change during the lifetime of
    /// `owner`.
    public init(_ bytes: UnsafeRawBufferPointer, ownedBy owner: any AnyObject & Sendable) {
        self.init(bytes, ownedBy: owner, isExclusive: false)
    }

    /// Creates a value for the bytes of an owner.
    ///
    /// - Parameters:
    ///   - isExclusive: True if the caller will not access these bytes again.
    ///   - onDelivery: A closure that the reader calls with the number of bytes that it delivered from the front, so
    ///     that the caller can free their memory for other bytes.
    package init(
        _ bytes: UnsafeRawBufferPointer, ownedBy owner: any AnyObject & Sendable, isExclusive: Bool,
        onDelivery: (@Sendable (Int) -> Void)? = nil
    ) {
        (self.bytes, self.owner, self.isExclusive) = (bytes, owner, isExclusive)
        self.onDelivery = onDelivery
    }

    /// Creates bytes that are a copy of `bytes`.
    public init(copying bytes: UnsafeRawBufferPointer) {
        let window = Window(max(bytes.count, 1))
        window.fill { output in _ = output.append(contentsOf: bytes) }
        self.init(window.bytes, ownedBy: window, isExclusive: true)
    }

    /// A value without bytes.
    static let none = BlobBytes(UnsafeRawBufferPointer(start: nil, count: 0), ownedBy: BlobWakerSlot())

    /// The same bytes, no longer exclusive because another owner keeps a view of them.
    var sharedBytes: BlobBytes {
        var shared = self
        shared.isExclusive = false
        return shared
    }

    /// The number of bytes.
    public var count: Int { self.bytes.count }

    /// True if the number of bytes is 0.
    public var isEmpty: Bool { self.bytes.isEmpty }

    /// Calls `body` with the bytes, which are valid during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self.owner) {} }
        return try body(self.bytes)
    }

    /// Removes bytes from the front, and returns them.
    ///
    /// - Parameter byteCount: The maximum number of bytes to remove, at least 0.
    public mutating func removeFirst(atMost byteCount: Int) -> BlobBytes {
        var first = self
        first.bytes = UnsafeRawBufferPointer(rebasing: self.bytes.prefix(byteCount))
        self.bytes = UnsafeRawBufferPointer(rebasing: self.bytes.dropFirst(byteCount))
        return first
    }

    /// Removes all bytes outside a range.
    mutating func keep(_ range: Range<Int>) { self.bytes = UnsafeRawBufferPointer(rebasing: self.bytes[range]) }

    /// Moves as many bytes as fit to `output`.
    mutating func move(to output: inout OutputRawSpan) {
        let count = output.append(contentsOf: self.bytes)
        self.bytes = UnsafeRawBufferPointer(rebasing: self.bytes.dropFirst(count))
    }

    /// Reports that `count` of the bytes were delivered, from the front.
    func didDeliver(_ count: Int) { self.onDelivery?(count) }
}

extension OutputRawSpan {
    /// Lends the next free bytes, at most `byteCount` of them, as a separate output.
    ///
    /// If `body` throws, the bytes that it appended are discarded. For callers that limit the size of a read.
    ///
    /// - Parameters:
    ///   - byteCount: The maximum number of bytes to lend; fewer are lent if fewer are free.
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

    /// Appends as many of `bytes` as fit, from the front: of an array, of `Data`, of a slice.
    ///
    /// - Returns: The number of bytes appended.
    @discardableResult
    public mutating func append(contentsOf bytes: some Collection<UInt8>) -> Int {
        let part = bytes.prefix(self.freeCapacity)
        if part.withContiguousStorageIfAvailable({ self.append(contentsOf: UnsafeRawBufferPointer($0)) }) == nil {
            for byte in part { self.append(byte) }
        }
        return part.count
    }

    /// Appends as many of `bytes` as fit, from the front, such as the input of a ``BlobTransform``.
    ///
    /// - Returns: The number of bytes appended.
    @discardableResult
    public mutating func append(contentsOf bytes: RawSpan) -> Int {
        bytes.withUnsafeBytes { self.append(contentsOf: $0) }
    }

    /// Appends the bytes that a call writes to the free memory, such as `read(2)` or a function of a C library.
    ///
    /// - Parameter read: A closure that writes bytes from the front of the memory, and returns their number, or a
    ///   negative number on failure, as system calls do.
    /// - Returns: The result of `read`.
    @discardableResult
    public mutating func append(by read: (UnsafeMutableRawBufferPointer) throws -> Int) rethrows -> Int {
        try self.withUnsafeMutableBytes { buffer, initializedCount in
            let count = try read(UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...]))
            initializedCount += Swift.max(count, 0)
            return count
        }
    }

    /// Replaces the last `count` bytes with the bytes in a range of them.
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

/// The outcome of a read.
public enum BlobReadResult: Sendable {
    /// At least one byte was appended.
    case bytes
    /// The bytes have ended, and all checks at the end passed.
    case end
    /// No bytes are available yet: the slot of the stream fires when a read is worth trying again.
    case notYet

    /// Moves as many of `bytes` as fit to `output`, and removes them from the front.
    ///
    /// - Parameters:
    ///   - bytes: A value that is its own slice type, such as `Data` or `ArraySlice<UInt8>`.
    ///   - output: The memory to which the bytes are appended.
    /// - Returns: ``bytes`` if at least one byte was moved; ``end`` if `bytes` was empty.
    public static func moving<Bytes: Collection<UInt8>>(
        _ bytes: inout Bytes, to output: inout OutputRawSpan
    ) -> BlobReadResult where Bytes.SubSequence == Bytes {
        guard !bytes.isEmpty else { return .end }
        bytes.removeFirst(output.append(contentsOf: bytes))
        return .bytes
    }
}

extension BidirectionalCollection<UInt8> {
    /// The bytes as a number, lowest byte first; at most 8 bytes.
    package var littleEndian: UInt64 { self.reversed().bigEndian }

    /// The bytes as a number, highest byte first; at most 8 bytes.
    package var bigEndian: UInt64 { self.reduce(0) { $0 << 8 | UInt64($1) } }
}

extension RandomAccessCollection {
    /// Returns the index of the first element for which `predicate` returns true, or the end index if it returns false
    /// for all elements. The predicate must be false for all elements before some index, and true from there on.
    ///
    /// - Complexity: O(log n).
    package func partitioningIndex(where predicate: (Element) -> Bool) -> Index {
        var (low, high) = (self.startIndex, self.endIndex)
        while low < high {
            let middle = self.index(low, offsetBy: self.distance(from: low, to: high) / 2)
            if predicate(self[middle]) { high = middle } else { low = self.index(after: middle) }
        }
        return low
    }
}

extension [UInt8] {
    /// Creates an array of the bytes that `body` appends to an output.
    ///
    /// - Parameter capacity: The capacity of the output in bytes.
    package init(capacity: Int, _ body: (inout OutputRawSpan) throws -> Void) throws(BlobError) {
        do {
            self = try Self(unsafeUninitializedCapacity: capacity) { buffer, count in
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                try body(&output)
                count = output.finalize(for: buffer)
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
