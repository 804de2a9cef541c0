import Foundation

/// The measures of this process while none of its jobs run.
package struct SettledMeasures: Sendable {
    /// The bytes of the heap in use.
    package let allocatedByteCount: Int
    /// The resident bytes.
    package let residentByteCount: Int
    /// The number of open descriptors.
    package let descriptorCount: Int
    /// The number of threads.
    package let threadCount: Int

    /// Waits until the threads and descriptors of finished jobs are gone, at most a minute, and measures; blocks.
    package init() {
        let end = ContinuousClock.now + .seconds(60)
        var (last, quietCount) = ((0, 0), 0)
        // Idle threads of our pools live for two seconds, those of libdispatch for five.
        while quietCount < 60, ContinuousClock.now < end {
            poll(nil, 0, 100)
            let now = (BlobTestSupport.descriptorCount(), BlobTestSupport.threadCount())
            (last, quietCount) = (now, now == last ? quietCount + 1 : 0)
        }
        (self.descriptorCount, self.threadCount) = last
        self.allocatedByteCount = BlobTestSupport.allocatedByteCount()
        self.residentByteCount = heapByteCount()
    }
}
