import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Helpers that the system does not confine.
@Suite(.enabled(if: isLinux)) struct ConfinementTests {
    private func members(_ isolation: ArchiveIsolation) async throws -> (error: BlobError?, events: [BlobEvent]) {
        let events = Locked<[BlobEvent]>([])
        let error = try await onThread {
            var context = BlobContext()
            context.eventSink = { event in events.withLock { $0.append(event) } }
            return ArchiveContainer(MemorySource(WARCTests.archive), format: .warc, isolation: isolation)
                .listing(context).error
        }
        return (error, events.withLock { $0 })
    }

    @Test(arguments: [
        (UnconfinedHelper.Calls.filter, "no system call filter", Int64(4)),
        (.limits, "no memory limit, no file limits", 3),
    ])
    func aHelperThatIsNotConfinedIsReportedAndRefused(
        _ calls: UnconfinedHelper.Calls, _ what: String, _ missing: Int64
    ) async throws {
        let folder = try TemporaryFolder()
        let path = try UnconfinedHelper.make(in: folder, refusing: calls)
        let (error, events) = try await self.members(.helper(at: path))
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains("the system does not confine it: \(what)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("the format warc ") == true)
        #expect(events == [BlobEvent(.helperStarted, missing)])
        // One that need not be confined is used.
        let walker = try await onThread {
            let walker = try HelperWalker(
                .warc, over: MemorySource(WARCTests.archive), BlobContext(), path, needsConfinement: false)
            return try walker.advance()
        }
        #expect(walker)
    }

    @Test func aHelperThatIsConfinedIsReported() async throws {
        let (error, events) = try await self.members(.helper(at: HelperTests.path))
        #expect(error == nil)
        #expect(events == [BlobEvent(.helperStarted, 0)])
    }

    /// As an older one, which knows no greeting.
    @Test func aHelperThatDoesNotAnswerTheGreetingIsUnavailable() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("#!/bin/sh\nhead -c 32 <&3 >/dev/null\nexit 70\n", to: "old")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let (error, events) = try await self.members(.helper(at: path))
        #expect(error?.code == .unavailable && events.isEmpty)
    }
}
