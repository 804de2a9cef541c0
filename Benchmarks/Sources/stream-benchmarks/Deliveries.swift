import BlobStreams
import Observation
import Synchronization

extension Comparison {
    /// The rate of deliveries to one observer of a changing member.
    static var deliveries: Comparison {
        Comparison(
            title: "One observer of a member of a state, which each update changes", unit: "deliveries", count: 500_000,
            subjects: [
                Subject(name: "BlobObservable") { count in
                    let observable = BlobObservable(SampleState())
                    let sum = Atomic<Int64>(0)
                    let token = observable.observe(\.byteOffset, options: [.old, .new]) { change in
                        guard let old = change.old, let new = change.new else { return }
                        sum.add(new - old, ordering: .relaxed)
                    }
                    for _ in 0..<count { observable.update { $0.byteOffset += 1 } }
                    token.cancel()
                    precondition(sum.load(ordering: .relaxed) == count)
                }
            ],
            peer: Subject(name: "withObservationTracking, armed again for each change") { count in
                let state = ObservableSampleState()
                let changes = Atomic<Int64>(0)
                var sum: Int64 = 0
                var old = state.byteOffset
                for _ in 0..<count {
                    let new = withObservationTracking {
                        state.byteOffset
                    } onChange: {
                        changes.add(1, ordering: .relaxed)
                    }
                    (sum, old) = (sum + new - old, new)
                    state.byteOffset += 1
                }
                precondition(changes.load(ordering: .relaxed) == count && sum == count - 1)
            })
    }
}
