/// The facts kept about the bytes that a reader delivered, by which content that is read again is known to be the same.
package struct DeliveredBytes {
    /// A stretch of bytes to read again, and its hash.
    package struct Proof {
        package private(set) var byteCount: Int64
        private var hash = Hasher()
        private let expected: Int

        fileprivate init(_ byteCount: Int64, _ expected: Hasher) {
            (self.byteCount, self.expected) = (byteCount, expected.finalize())
        }

        /// Takes the next bytes, at most ``byteCount``.
        package mutating func append(_ bytes: UnsafeRawBufferPointer) {
            self.hash.combine(bytes: bytes)
            self.byteCount -= Int64(bytes.count)
        }

        /// False when all bytes were taken and others than those delivered were among them.
        package var holds: Bool { self.byteCount > 0 || self.hash.finalize() == self.expected }
    }

    /// The bytes that are kept.
    package enum Extent {
        case none
        /// The last 4 KiB, or all if there are fewer.
        case last
        /// A hash of all: what is read again anyway, because there is no random access, is compared, too. Checks that
        /// the source makes at its end are then those of the bytes delivered, and not only of those read again.
        case all
    }

    /// The number of the last delivered bytes that are read again and compared.
    package static let lastByteCount = 4096

    private var byteCount: Int64 = 0
    // The same for the same bytes, in whatever pieces they come; some gigabytes a second.
    private var hash = Hasher()
    private var last: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: UnsafeRawBufferPointer, _ extent: Extent) {
        self.byteCount += Int64(bytes.count)
        switch extent {
        case .none: break
        case .all: self.hash.combine(bytes: bytes)
        case .last:
            let start = max(0, bytes.count - Self.lastByteCount)
            // Twice the number kept has room, so that short reads do not move the bytes each time.
            if start > 0 {
                self.last.removeAll(keepingCapacity: true)
            } else if self.last.count + bytes.count > 2 * Self.lastByteCount {
                self.last.removeFirst(self.last.count + bytes.count - Self.lastByteCount)
            }
            self.last += UnsafeRawBufferPointer(rebasing: bytes[start..<bytes.count])
        }
    }

    /// The bytes before the one reached that must be read again and be the same.
    package func proof(_ extent: Extent) -> Proof {
        switch extent {
        case .none: return Proof(0, Hasher())
        case .all: return Proof(self.byteCount, self.hash)
        case .last:
            let last = self.last.suffix(Self.lastByteCount)
            var hash = Hasher()
            last.withUnsafeBytes { hash.combine(bytes: $0) }
            return Proof(Int64(last.count), hash)
        }
    }
}
