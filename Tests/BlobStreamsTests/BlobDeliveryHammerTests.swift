import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Races on purpose: food for the thread sanitizer. What each asserts holds in every interleaving.
@Suite(.timeLimit(.minutes(10))) struct BlobDeliveryHammerTests {
    private struct Numbers: Equatable {
        var phase = 0
        var step = 0
    }

    /// `BLOBSTREAMS_ROUNDS` makes it more: a thousand take twenty seconds.
    private static let roundCount = environmentNumber("BLOBSTREAMS_ROUNDS") ?? 60

    /// An observer that must not miss a phase, go back, or be called by two at once, and after its end not at all.
    private final class Checked: Sendable {
        private struct State {
            var last: Numbers?
            var isInside = false
        }

        private let state = Locked(State())

        var last: Numbers? { self.state.withLock { $0.last } }

        func take(_ change: BlobChange<Numbers>) {
            guard let new = change.new else { return }
            self.state.withLock { state in
                #expect(!state.isInside)
                state.isInside = true
                #expect(change.isInitial == (state.last == nil))
                if let last = state.last {
                    #expect(change.old == last)
                    #expect(new.phase == last.phase || new.phase == last.phase + 1)
                    #expect(new.step > last.step)
                }
            }
            self.state.withLock { state in
                state.isInside = false
                state.last = new
            }
        }
    }

    @Test func observersOnExecutorsThatComeAndGoWhileThreadsUpdate() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let deliveries: [BlobDelivery] = [
            .queue(DispatchQueue(label: "serial")), .queue(DispatchQueue(label: "wide", attributes: .concurrent)),
            .immediate,
        ]
        let loop = LoopThread()
        let all = deliveries + [.runLoop(loop.runLoop)]
        for round in 0..<Self.roundCount {
            let observable = BlobObservable(Numbers(), coalescing: { $0.phase == $1.phase })
            let kept = all.map { delivery in
                let observer = Checked()
                let done = Latch()
                let token = observable.observe(\.self, options: [.initial, .old, .new], on: delivery) { change in
                    observer.take(change)
                    if change.new?.step == 300 { done.open() }
                }
                return (observer: observer, done: done, token: token)
            }
            try await onThreads(4) { number in
                var random = SplitMix64(seed: seed &+ UInt64(round * 4 + number))
                if number < 3 {
                    for _ in 0..<100 {
                        let isPhase = random.next(8) == 0
                        observable.update { numbers in
                            numbers.step += 1
                            if isPhase { numbers.phase += 1 }
                        }
                    }
                } else {
                    for _ in 0..<40 {
                        let observer = Checked()
                        let token = observable.observe(
                            \.self, options: [.initial, .old, .new], on: all[random.next(all.count)]
                        ) { observer.take($0) }
                        for _ in 0..<random.next(64) { _ = observable.value }
                        token.cancel()
                    }
                }
            }
            for (observer, done, token) in kept {
                await done.opened()
                #expect(observer.last == observable.value)
                token.cancel()
            }
        }
        try await onThread { loop.stop() }
    }
}
