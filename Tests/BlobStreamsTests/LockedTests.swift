import BlobCore
import Testing

struct LockedTests {
    /// The value is behind the mutex, at its own alignment, and is released with the lock.
    @Test func valuesOfAnyAlignmentAreKept() {
        final class Counted: Sendable {}
        weak var counted: Counted?
        do {
            let value = Counted()
            counted = value
            let wide = Locked((UInt8(1), SIMD8<Double>(repeating: 2), value))
            wide.withLock { $0.0 += 1 }
            let (byte, vector) = wide.withLock { ($0.0, $0.1) }
            #expect(byte == 2 && vector == SIMD8(repeating: 2))
        }
        #expect(counted == nil)
        let none = Locked(())
        #expect(none.withLock { _ in true })
    }
}
