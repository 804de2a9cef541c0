import BlobCore
import BlobTestSupport
import Testing

@testable import BlobTransfer

/// The lock of a state file, whose file goes with each holder.
@Suite struct UploadStateLockTests {
    @Test func aLockHasOneHolder() async throws {
        let folder = try TemporaryFolder()
        let file = UploadStateFile(path: folder.path("state"))
        let (holderCount, lockCount) = (Locked(0), Locked(0))
        try await onThreads(4) { _ in
            for _ in 0..<2000 {
                guard let lock = try? file.lock() else { continue }
                let isAlone = holderCount.withLock { count in
                    count += 1
                    return count == 1
                }
                if !isAlone { Issue.record("The lock has two holders.") }
                lockCount.withLock { $0 += 1 }
                holderCount.withLock { $0 -= 1 }
                lock.release()
            }
        }
        #expect(lockCount.withLock { $0 } > 100 && folder.names.isEmpty)
    }
}
