import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct BlobCancellationTests {
    @Test func eachHandlerIsCalledOnceInTheOrderOfRegistration() {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        let registrations = (0..<20).map { number in cancellation.onCancel { calls.append(number) } }
        #expect(!cancellation.isCancelled)
        cancellation.cancel()
        cancellation.cancel()
        #expect(cancellation.isCancelled)
        #expect(calls.values == Array(0..<20))
        withExtendedLifetime(registrations) {}
    }

    @Test func eachHandlerIsCalledOnceWhenManyThreadsCancel() async throws {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        let registrations = (0..<50).map { number in cancellation.onCancel { calls.append(number) } }
        try await onThreads(4) { _ in cancellation.cancel() }
        #expect(calls.values == Array(0..<50))
        withExtendedLifetime(registrations) {}
    }

    @Test func aLateRegistrationIsCalledAtOnce() {
        let cancellation = BlobCancellation()
        cancellation.cancel()
        let calls = Recorder<Int>()
        let registration = cancellation.onCancel { calls.append(1) }
        #expect(calls.values == [1])
        registration.cancel()
        #expect(calls.values == [1])
    }

    @Test func aRemovedHandlerIsNotCalled() {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        let registration = cancellation.onCancel { calls.append(1) }
        registration.cancel()
        registration.cancel()
        cancellation.cancel()
        #expect(calls.values.isEmpty)
    }

    @Test func aReleasedRegistrationIsARemovedOne() {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        _ = cancellation.onCancel { calls.append(1) }
        cancellation.cancel()
        #expect(calls.values.isEmpty)
    }

    @Test func aHandlerThatAnEarlierOneRemovesIsNotCalled() {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        let later = Recorder<BlobRegistration>()
        let first = cancellation.onCancel { for registration in later.values { registration.cancel() } }
        later.append(cancellation.onCancel { calls.append(2) })
        cancellation.cancel()
        #expect(calls.values.isEmpty)
        first.cancel()
    }

    @Test func aHandlerMayRegisterAndRemove() {
        let cancellation = BlobCancellation()
        let calls = Recorder<Int>()
        let registrations = Recorder<BlobRegistration>()
        registrations.append(
            cancellation.onCancel {
                registrations.append(cancellation.onCancel { calls.append(2) })
                for registration in registrations.values { registration.cancel() }
                calls.append(1)
            })
        cancellation.cancel()
        #expect(calls.values == [2, 1])
    }

    @Test func removalReleasesWhatTheHandlerHolds() {
        let cancellation = BlobCancellation()
        weak var held: Latch?
        let registration: BlobRegistration
        do {
            let latch = Latch()
            held = latch
            registration = cancellation.onCancel { latch.open() }
        }
        #expect(held != nil)
        registration.cancel()
        #expect(held == nil)
    }

    @Test func aChildFollowsItsParent() {
        let parent = BlobCancellation()
        let child = parent.makeChild()
        let calls = Recorder<Int>()
        let registration = child.onCancel { calls.append(1) }
        parent.cancel()
        #expect(child.isCancelled)
        #expect(calls.values == [1])
        #expect(parent.makeChild().isCancelled, "Also one that comes late.")
        registration.cancel()
    }

    @Test func aParentDoesNotFollowItsChild() {
        let parent = BlobCancellation()
        let (child, sibling) = (parent.makeChild(), parent.makeChild())
        child.cancel()
        #expect(child.isCancelled)
        #expect(!parent.isCancelled)
        #expect(!sibling.isCancelled)
    }

    @Test func aParentKeepsNoChildAlive() {
        let parent = BlobCancellation()
        weak var released: BlobCancellation?
        do {
            let child = parent.makeChild()
            released = child
        }
        #expect(released == nil)
    }
}
