/// A generator of random numbers that are the same for the same seed.
///
/// Steele, Lea and Flood: Fast splittable pseudorandom number generators (2014), as in `java.util.SplittableRandom`.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    /// Makes a generator of the numbers that belong to a seed.
    package init(seed: UInt64) { self.state = seed }

    /// Returns the next number.
    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
