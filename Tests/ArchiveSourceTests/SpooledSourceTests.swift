import ArchiveSource
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct SpooledSourceTests {
    /// Both used to copy, and the second could not: the bytes of its base had passed by.
    @Test func whoeverComesWhileAnArchiveIsCopiedWaitsForTheCopy() async throws {
        let zipped = try await Made.archive("small.zip")
        for _ in 0..<50 {
            let member = try ArchiveContainer(pipeSource(zipped), format: .zip)
                .member(.index(0), context: BlobContext())
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 { group.addTask { try await onThread { try member.open().close() } } }
                try await group.waitForAll()
            }
        }
    }
}
