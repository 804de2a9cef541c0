import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Races on purpose: food for the thread sanitizer. What each asserts holds in every interleaving.
@Suite(.timeLimit(.minutes(10))) struct BlobStatesHammerTests {
    @Test func iterationsThatComeAndGoWhileThreadsUpdate() async throws {
        let lastNumber = 4 * 250
        let observable = BlobObservable(0, isLast: { $0 == lastNumber })
        let firstNumbers = Recorder<Int>()
        try await withThrowingTaskGroup { group in
            for number in 0..<12 {
                group.addTask {
                    // Every third goes before the end, and every third is cancelled at some moment.
                    let consumer = Task { await self.consume(observable.states, atMost: number % 3 == 1 ? 20 : .max) }
                    if number % 3 == 2 { consumer.cancel() }
                    let seen = await consumer.value
                    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 + 1 == $1 })
                    if number % 3 == 0 { #expect(seen.last == lastNumber) }
                    firstNumbers.append(seen.first ?? -1)
                }
            }
            group.addTask {
                try await onThreads(4) { _ in
                    for _ in 0..<250 { observable.update { $0 += 1 } }
                }
            }
            try await group.waitForAll()
        }
        #expect(firstNumbers.values.count == 12)
    }

    @Test func coalescingKeepsEveryPhaseWhateverThreadsUpdate() async throws {
        let phases = 4 * 25
        let observable = BlobObservable(
            Progress(), coalescing: { $0.phase == $1.phase }, isLast: { $0.phase == phases })
        let told = Recorder<Progress>()
        let token = observable.observe(\.self) { change in
            #expect(change.old == (told.values.last ?? Progress()))
            change.new.map(told.append)
        }
        async let iterated = self.consume(observable.states, atMost: .max)
        try await onThreads(4) { _ in
            for _ in 0..<25 {
                for _ in 0..<20 { observable.update { $0.byteOffset += 1 } }
                observable.update { $0.phase += 1 }
            }
        }
        for seen in [told.values, await iterated] {
            #expect(Set(seen.map(\.phase)).isSuperset(of: 1...phases))
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.precedes($1) })
        }
        #expect(told.values.last == Progress(phase: phases, byteOffset: 4 * 25 * 20))
        token.cancel()
    }

    @Test func observablesThatAreReleasedWhileTheyAreIterated() async throws {
        for round in 0..<100 {
            let consumers: [Task<[Int], Never>]
            do {
                let observable = BlobObservable(0)
                consumers = (0..<3).map { _ in
                    let states = observable.states
                    return Task { await self.consume(states, atMost: .max) }
                }
                try await onThreads(2) { _ in
                    for _ in 0..<round { observable.update { $0 += 1 } }
                }
            }
            for consumer in consumers { #expect(await consumer.value.last == 2 * round) }
        }
    }

    private struct Progress: Equatable {
        var phase = 0
        var byteOffset = 0

        func precedes(_ other: Progress) -> Bool {
            other.phase - self.phase <= 1 && other.phase >= self.phase && other.byteOffset >= self.byteOffset
        }
    }

    private func consume<State>(_ states: BlobSequence<State, Never>, atMost count: Int) async -> [State] {
        var seen: [State] = []
        for await state in states {
            seen.append(state)
            if seen.count >= count { break }
        }
        return seen
    }
}
