import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

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

    @Test func aCopyThatIsTooLargeNamesItsLimit() async throws {
        let zipped = try await Made.archive("small.zip")
        try await onThread {
            var context = BlobContext()
            context.spoolLimit = 100
            let member = try ArchiveContainer(pipeSource(zipped), format: .zip).member(.index(0), context: context)
            let error = #expect(throws: BlobError.self) { try member.open(context: context).close() }
            #expect(error?.code == .limitExceeded && error?.remedy == .spoolLimit)
        }
    }

    /// Each of them used to be searched for from the beginning of the directory.
    @Test func manyMembersOfAPipeAreFoundByATable() async throws {
        let zipped = try await Made.archive("small.zip")
        try await onThread {
            let container = ArchiveContainer(pipeSource(zipped), format: .zip)
            let context = BlobContext()
            var count = 0
            while try container.searchedTable(context) == nil {
                count += 1
                try #require(count < 20)
                try container.member(.index(0), context: context).open().close()
            }
        }
    }
}
