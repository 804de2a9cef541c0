/// The facts kept about the bytes that a reader delivered, by which content that is read again is known to be the same.
package struct DeliveredBytes {
    /// A stretch of bytes to read again, and its hash.
    package struct Proof {
        package private(set) var byteCount: Int64
        private var hash = RunningHash()
        private let expected: RunningHash

        fileprivate init(_ byteCount: Int64, _ expected: RunningHash) {
            (self.byteCount, self.expected) = (byteCount, expected)
        }

        /// Takes the next bytes, at most ``byteCount``.
        package mutating func append(_ bytes: UnsafeRawBufferPointer) {
            self.hash.update(bytes)
            self.byteCount -= Int64(bytes.count)
        }

        /// False when all bytes were taken and others than those delivered were among them.
        package var holds: Bool { self.byteCount > 0 || self.hash == self.expected }
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
    static let lastByteCount = 4096

    private var byteCount: Int64 = 0
    private var hash = RunningHash()
    private var last: [UInt8] = []

    package init() {}

    package mutating func append(_ bytes: UnsafeRawBufferPointer, _ extent: Extent) {
        self.byteCount += Int64(bytes.count)
        switch extent {
        case .none: break
        case .all: self.hash.update(bytes)
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
        case .none: return Proof(0, RunningHash())
        case .all: return Proof(self.byteCount, self.hash)
        case .last:
            let last = self.last.suffix(Self.lastByteCount)
            var hash = RunningHash()
            last.withUnsafeBytes { hash.update($0) }
            return Proof(Int64(last.count), hash)
        }
    }
}

/// A hash of bytes that come in pieces of any length, which tells other bytes in all likelihood. No protection against
/// intent.
///
/// FNV-1a (draft-eastlake-fnv, offset basis and prime of section 5) of words instead of bytes, with a shift that
/// carries the high bits of a word to the low ones: some gigabytes a second.
struct RunningHash: Equatable {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325
    /// The bytes of a word that is not whole yet.
    private var rest: UInt64 = 0
    private var restCount: UInt64 = 0

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var bytes = bytes
        while self.restCount > 0, let byte = bytes.first {
            self.append(byte)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        }
        let wordCount = bytes.count / 8
        for index in 0..<wordCount {
            self.append(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self)))
        }
        for byte in bytes[(8 * wordCount)...] { self.append(byte) }
    }

    private mutating func append(_ byte: UInt8) {
        self.rest |= UInt64(byte) << (8 * self.restCount)
        self.restCount += 1
        guard self.restCount == 8 else { return }
        self.append(self.rest)
        (self.rest, self.restCount) = (0, 0)
    }

    private mutating func append(_ word: UInt64) {
        self.value = (self.value ^ word) &* 0x100_0000_01b3
        self.value ^= self.value >> 32
    }
}
