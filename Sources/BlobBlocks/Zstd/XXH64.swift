import BlobCore

/// The checksum XXH64 with seed 0 (xxhash_spec.md), whose low 32 bits seekable Zstandard data stores for each frame.
struct XXH64 {
    private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
        0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5
    )
    private static let stripeByteCount = 32

    private var lanes: SIMD4<UInt64> = [
        XXH64.primes.0 &+ XXH64.primes.1, XXH64.primes.1, 0, 0 &- XXH64.primes.0,
    ]
    private var byteCount: UInt64 = 0
    /// The bytes that do not fill a whole stripe yet.
    private var rest: [UInt8] = []

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        self.byteCount += UInt64(bytes.count)
        var bytes = bytes
        if !self.rest.isEmpty {
            let count = min(Self.stripeByteCount - self.rest.count, bytes.count)
            self.rest += bytes.prefix(count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
            guard self.rest.count == Self.stripeByteCount else { return }
            self.rest.withUnsafeBytes { self.take($0) }
            self.rest = []
        }
        let wholeCount = bytes.count / Self.stripeByteCount * Self.stripeByteCount
        self.take(UnsafeRawBufferPointer(rebasing: bytes.prefix(wholeCount)))
        self.rest += bytes.dropFirst(wholeCount)
    }

    /// Adds whole stripes to the state.
    private mutating func take(_ bytes: UnsafeRawBufferPointer) {
        var lanes = self.lanes
        for place in stride(from: 0, to: bytes.count, by: Self.stripeByteCount) {
            for lane in 0..<4 {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8 * lane, as: UInt64.self))
                lanes[lane] = Self.round(lanes[lane], word)
            }
        }
        self.lanes = lanes
    }

    /// The checksum of all bytes so far.
    var value: UInt64 {
        var sum: UInt64
        if self.byteCount >= Self.stripeByteCount {
            let lanes = self.lanes
            sum =
                Self.rotated(lanes[0], 1) &+ Self.rotated(lanes[1], 7) &+ Self.rotated(lanes[2], 12)
                &+ Self.rotated(lanes[3], 18)
            for lane in 0..<4 { sum = (sum ^ Self.round(0, lanes[lane])) &* Self.primes.0 &+ Self.primes.3 }
        } else {
            sum = Self.primes.4
        }
        sum &+= self.byteCount
        var rest = self.rest[...]
        while rest.count >= 8 {
            sum = Self.rotated(sum ^ Self.round(0, rest.prefix(8).littleEndian), 27) &* Self.primes.0 &+ Self.primes.3
            rest = rest.dropFirst(8)
        }
        if rest.count >= 4 {
            sum = Self.rotated(sum ^ rest.prefix(4).littleEndian &* Self.primes.0, 23) &* Self.primes.1 &+ Self.primes.2
            rest = rest.dropFirst(4)
        }
        for byte in rest { sum = Self.rotated(sum ^ UInt64(byte) &* Self.primes.4, 11) &* Self.primes.0 }
        sum = (sum ^ sum >> 33) &* Self.primes.1
        sum = (sum ^ sum >> 29) &* Self.primes.2
        return sum ^ sum >> 32
    }

    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        self.rotated(lane &+ word &* self.primes.1, 31) &* self.primes.0
    }

    private static func rotated(_ number: UInt64, _ count: UInt64) -> UInt64 {
        number << count | number >> (64 - count)
    }
}
