/// Counts bytes, and adds every 509th to an order-dependent sum, because summing all of 300 MB takes too long in a
/// debug build.
struct ByteChecksum: Equatable, Sendable {
    private(set) var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let start = (509 - self.count % 509) % 509
        for index in stride(from: start, to: bytes.count, by: 509) {
            self.sum = self.sum &* 31 &+ UInt64(bytes[index])
        }
        self.count += bytes.count
    }
}
