import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobContextTests {
    private let past = ContinuousClock.now
    private let soon = Duration.milliseconds(20)

    @Test func aContextWithoutTermsGoesOn() throws { try BlobContext().check() }

    @Test func afterTheDeadlineCheckIsTimedOut() {
        #expect(codeThrown { try BlobContext(deadline: past).check() } == .timedOut)
    }

    @Test func aCancelledContextIsCancelledAlsoAfterItsDeadline() {
        let context = BlobContext(deadline: past)
        context.cancellation.cancel()
        #expect(codeThrown { try context.check() } == .cancelled)
    }

    @Test func aChildKeepsTheTermsAndFollowsTheCancellation() {
        let context = BlobContext(deadline: .now.advanced(by: .seconds(3600)), idleLimit: .seconds(7))
        let child = context.makeChild()
        #expect(child.deadline == context.deadline)
        #expect(child.idleLimit == context.idleLimit)
        context.cancellation.cancel()
        #expect(codeThrown { try child.check() } == .cancelled)
    }

    @Test func bytesThatAreThereAreNotWaitedFor() throws {
        let pipe = try SystemPipe()
        pipe.write()
        try BlobContext(idleLimit: .zero).waitReadable(pipe.readEnd)
    }

    @Test func bytesThatComeLaterEndTheWait() async throws {
        let pipe = try SystemPipe()
        async let wait: Void = onThread { try BlobContext().waitReadable(pipe.readEnd) }
        pipe.write()
        try await wait
    }

    @Test func aHungUpDescriptorEndsTheWait() async throws {
        let pipe = try SystemPipe()
        async let wait: Void = onThread { try BlobContext().waitReadable(pipe.readEnd) }
        pipe.hangUp()
        try await wait
    }

    @Test func cancellingEndsABlockedWaitWithinASecond() async throws {
        let pipe = try SystemPipe()
        let context = BlobContext()
        let begins = Latch()
        async let wait = onThread { () -> BlobError.Code? in
            begins.open()
            return codeThrown { try context.waitReadable(pipe.readEnd) }
        }
        await begins.opened()
        let watch = CancellationWatch()
        context.cancellation.cancel()
        #expect(try await wait == .cancelled)
        #expect(await watch.isInTime)
    }

    @Test func aCancelledContextDoesNotEvenLook() throws {
        let pipe = try SystemPipe()
        pipe.write()
        let context = BlobContext()
        context.cancellation.cancel()
        #expect(codeThrown { try context.waitReadable(pipe.readEnd) } == .cancelled)
    }

    @Test func theIdleLimitEndsAWait() async throws {
        let pipe = try SystemPipe()
        let error = try await onThread { [soon] in
            #expect(throws: BlobError.self) { try BlobContext(idleLimit: soon).waitReadable(pipe.readEnd) }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("idle limit") == true)
    }

    @Test func theDeadlineEndsAWaitAndComesFirstWhenItIsEarlier() async throws {
        let pipe = try SystemPipe()
        let error = try await onThread { [soon] in
            let context = BlobContext(deadline: .now.advanced(by: soon), idleLimit: .seconds(3600))
            return #expect(throws: BlobError.self) { try context.waitReadable(pipe.readEnd) }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("deadline") == true)
    }

    @Test func limitsMayBeAsLongAsTheyCanBe() async throws {
        let pipe = try SystemPipe()
        let begins = Latch()
        async let wait: Void = onThread {
            begins.open()
            try BlobContext(idleLimit: .seconds(Int64.max / 2)).waitReadable(pipe.readEnd)
        }
        await begins.opened()
        pipe.write()
        try await wait
    }

    @Test func aClosedDescriptorIsAnError() {
        // Far above every limit on open files, so that no other test can get it meanwhile.
        let error = #expect(throws: BlobError.self) { try BlobContext().waitReadable(CInt.max) }
        #expect(error?.systemErrorNumber == EBADF)
    }

    @Test func noDescriptorIsLeft() async throws {
        let waitCount = 400
        let pipe = try SystemPipe()
        func openCount() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let before = try openCount()
        for _ in 0..<waitCount {
            #expect(codeThrown { try BlobContext(idleLimit: .zero).waitReadable(pipe.readEnd) } == .timedOut)
        }
        // Tests beside this one have a few open; a leak would be at least one for each wait.
        #expect(try openCount() < before + waitCount)
    }
}
