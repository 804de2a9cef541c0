import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// Races on purpose: food for the thread sanitizer. What each asserts holds in every interleaving.
@Suite(.timeLimit(.minutes(10))) struct HammerTests {
    @Test func writersFinishersAndAClosingReader() async throws {
        for round in 0..<60 {
            let pipe = BlobPipe(capacity: 3)
            let reader = UnsafeTransfer(try pipe.source.open())  // To thread 0 alone.
            try await onThreads(5) { number in
                switch number {
                case 0:
                    var total = 0
                    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2, alignment: 1)
                    defer { buffer.deallocate() }
                    while case let count = try reader.value.readBlocking(into: buffer), count > 0, total < round * 4 {
                        total += count
                    }
                    reader.value.close()
                case 4:
                    for _ in 0..<round { _ = pipe.source.traits }
                    pipe.finish()
                default:
                    let bytes = Data(repeating: UInt8(number), count: 100)
                    let code = codeThrown { try pipe.write(bytes) }
                    #expect(code == nil || code == .closed)
                }
            }
        }
    }

    @Test func observersThatComeAndGoWhileThreadsUpdate() async throws {
        let observable = BlobObservable(0)
        try await onThreads(4) { number in
            for _ in 0..<200 {
                if number.isMultiple(of: 2) {
                    observable.update { $0 += 1 }
                } else {
                    let last = Locked(-1)
                    let token = observable.observe(\.self, options: [.initial, .old, .new]) { change in
                        let new = change.new ?? -1
                        last.withLock { last in
                            #expect(change.isInitial ? last == -1 : new == last + 1)
                            last = new
                        }
                    }
                    observable.update { $0 += 1 }
                    token.cancel()
                }
            }
        }
        #expect(observable.value == 800)
    }

    @Test func handlersThatComeAndGoWhileOthersCancel() async throws {
        for _ in 0..<50 {
            let parent = BlobCancellation()
            let calls = Recorder<Int>()
            try await onThreads(4) { number in
                if number == 0 { return parent.cancel() }
                for _ in 0..<20 {
                    let child = parent.makeChild()
                    let called = Locked(0)
                    let registration = child.onCancel { called.withLock { $0 += 1 } }
                    if number == 1 { child.cancel() }
                    registration.cancel()
                    calls.append(called.withLock { $0 })
                }
            }
            #expect(calls.values.count == 60)
            #expect(calls.values.allSatisfy { $0 <= 1 })
        }
    }

    @Test func iterationsThatAreCancelledAtAnyMoment() async throws {
        for round in 0..<100 {
            let pipe = BlobPipe(capacity: 16)
            let reading = Task { () -> Int in
                var count = 0
                for try await chunk in pipe.source.chunks(ofAtMost: 8) { count += chunk.count }
                return count
            }
            let writing = Task { try await pipe.write(Data(count: round * 4)) }
            let ending = Task { round.isMultiple(of: 2) ? reading.cancel() : pipe.finish() }
            await ending.value
            let result = await reading.result
            // An iteration that was cancelled before it opened the pipe leaves the writer waiting for a reader.
            pipe.finish()
            _ = await writing.result
            switch result {
            case .success(let count): #expect(count <= round * 4)
            case .failure(let error): #expect(BlobError(wrapping: error).code == .cancelled)
            }
        }
    }

    /// Within a read that an event led to, the next event comes: its step must not overtake the one that reads.
    @Test func noByteIsLostWhenEventsOvertakeEachOther() async throws {
        let byteCount = 20_000
        let next = Locked(0)
        let player = Locked<PlayedStream?>(nil)
        defer { player.withLock { $0 = nil } }  // Else the reader holds what plays it, and that the reader.
        let push: @Sendable () -> Void = {
            let reader = player.withLock { $0 }
            // Together: two that push at once must not change places.
            next.withLock { next in
                next += 1
                if next > byteCount {
                    reader?.state.update { $0.isAtEnd = true }
                } else {
                    reader?.push([UInt8(truncatingIfNeeded: next)])
                }
            }
        }
        let reader = PlayedStream(onRead: { _ in
            let total = next.withLock { $0 }
            if player.withLock({ $0 })?.reads.values.last == 0 {
                DispatchQueue.global().async(execute: push)
            } else if !total.isMultiple(of: 2), total < byteCount {
                push()
            }
        })
        player.withLock { $0 = reader }
        var all = Data()
        for try await chunk in reader.chunks(ofAtMost: 1) { all += chunk }
        #expect(all == Data((1...byteCount).map { UInt8(truncatingIfNeeded: $0) }))
    }
}
