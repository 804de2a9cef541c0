#if Photos
import BlobStreams
import Testing

@testable import AssetLibrarySource

/// The states of a reader's file, without a file.
@Suite struct RepresentationTests {
    @Test func aFileIsFoundLostAndFoundAgain() {
        var representation = Representation()
        #expect(representation.state == .unresolved)
        #expect(representation.resolve() == .zero)
        #expect(representation.state == .resolving(attempt: 1))
        representation.becomeReady()
        #expect(representation.state == .ready)
        representation.invalidate(.moved)
        #expect(representation.state == .invalidated(.moved))
        #expect(representation.resolve() == .milliseconds(20))
        representation.becomeReady()
        #expect(representation.state == .ready)
        representation.end()
        #expect(representation.state == .ended)
    }

    @Test func attemptsAreCountedUntilBytesCome() {
        var representation = Representation()
        var delays: [Duration] = []
        while let delay = representation.resolve() { delays.append(delay) }
        #expect(delays == [.zero, .milliseconds(20), .milliseconds(100)])
        #expect(delays.count == Representation.maximumAttemptCount)
        #expect(representation.state == .failed)
        representation = Representation()
        for _ in 0..<100 {
            #expect(representation.resolve() == .zero)
            representation.becomeReady()
            representation.deliver(upTo: 1)
            representation.invalidate(.edited)
        }
    }

    @Test func whatIsOverStaysOver() {
        let ends: [(inout Representation) -> Void] = [{ $0.fail() }, { $0.close() }]
        for end in ends {
            var representation = Representation()
            end(&representation)
            let state = representation.state
            #expect(representation.resolve() == nil)
            representation.becomeReady()
            representation.invalidate(.offline)
            representation.end()
            #expect(representation.state == state)
        }
    }

    @Test func anInvalidationDuringAnAttemptIsNotLost() {
        var representation = Representation()
        _ = representation.resolve()
        representation.invalidate(.recatalogued)
        let isReady = representation.becomeReady()
        #expect(!isReady)
        #expect(representation.resolve() == .milliseconds(20))
        representation.becomeReady()
        #expect(representation.state == .ready)
    }

    @Test func eachStageIsOneEvent() {
        var representation = Representation(at: 7)
        var events: [BlobEvent] = []
        func step(_ change: (inout Representation) -> Void) {
            let old = representation
            change(&representation)
            if let event = representation.event(since: old) { events.append(event) }
        }
        step { _ = $0.resolve() }
        step { $0.becomeReady() }
        step { $0.deliver(upTo: 9) }
        #expect(events.isEmpty)
        step { $0.invalidate(.edited) }
        step { $0.invalidate(.moved) }
        step { _ = $0.resolve() }
        step { _ = $0.resolve() }
        step { $0.becomeReady() }
        step { $0.fail() }
        #expect(events == [BlobEvent(.invalidated, 9), BlobEvent(.recovering, 9), BlobEvent(.recovered, 9)])
    }
}
#endif
