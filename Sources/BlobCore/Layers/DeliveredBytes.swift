/// A record of the bytes that a reader delivered, used to verify that content that is read again is unchanged.
package struct DeliveredBytes {
    /// A range of bytes to read again, and its hash.
    package struct Proof {
        package private(set) var byteCount: Int64
        private var hash = Hasher()
        private let expected: Int

        fileprivate init(_ byteCount: Int64, _ expected: Hasher) {
            (self.byteCount, self.expected) = (byteCount, expected.finalize())
        }

        /// Adds the next bytes, at most ``byteCount``.
        package mutating func append(_ bytes: UnsafeRawBufferPointer) {
            self.hash.combine(bytes: bytes)
            self.byteCount -= Int64(bytes.count)
        }

        /// True unless all bytes were added and differ from the delivered bytes.
        package var isConfirmed: Bool { self.byteCount > 0 || self.hash.finalize() == self.expected }
    }

    /// The part of the delivered bytes that must be unchanged when they are read again.
    package enum Extent {
        case none
        /// The last 4 KiB, or all if there are fewer.
        case last
        /// All bytes, by their hash: without random access, they are read again anyway, so they are also compared.
        /// Checks that the source makes at its end then cover the bytes delivered, not only the bytes read again.
        case all
    }

    /// The number of most recently delivered bytes that are read again and compared.
    package static let comparedTailByteCount = 4096

    private var byteCount: Int64 = 0
    // Independent of how the bytes are divided into reads; hashes some gigabytes per second.
    private var hash = Hasher()
    private var last: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: UnsafeRawBufferPointer, _ extent: Extent) {
        self.byteCount += Int64(bytes.count)
        switch extent {
        case .none: break
        case .all: self.hash.combine(bytes: bytes)
        case .last:
            let start = max(0, bytes.count - Self.comparedTailByteCount)
            // The buffer holds twice the number needed, so that short reads do not move the bytes each time.
            if start > 0 {
                self.last.removeAll(keepingCapacity: true)
            } else if self.last.count + bytes.count > 2 * Self.comparedTailByteCount {
                self.last.removeFirst(self.last.count + bytes.count - Self.comparedTailByteCount)
            }
            self.last += UnsafeRawBufferPointer(rebasing: bytes[start..<bytes.count])
        }
    }

    /// Returns the proof for the bytes before the byte reached: they must be read again and be unchanged.
    package func proof(_ extent: Extent) -> Proof {
        switch extent {
        case .none: return Proof(0, Hasher())
        case .all: return Proof(self.byteCount, self.hash)
        case .last:
            let last = self.last.suffix(Self.comparedTailByteCount)
            var hash = Hasher()
            last.withUnsafeBytes { hash.combine(bytes: $0) }
            return Proof(Int64(last.count), hash)
        }
    }
}
