import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

/// The decisions of a stream, alone: each timeline is drawn in words, and what comes of each word stands below it.
struct StreamMachineTests {
    @Test(arguments: [
        // A reader that never blocks, from its opening to its end.
        (
            "open opened notYet woken look readable read:3 brings:3 look end",
            "opening | uses | open (open) | look! | uses | available (bytes) | uses | dry | uses | atEnd (end)"
        ),
        // One that blocks has bytes until the end shows.
        (
            "open blocking readable read:8 brings:8 read:8 end read:8",
            "opening | uses | open available (open) (bytes) | uses | (bytes) | uses | atEnd dry (end) | got:0"
        ),
        // Small reads come out of a window; the one that empties it looks on.
        (
            "open opened keeps:10 read:4 read:4 read:4 end",
            "opening | uses | open available (open) (bytes) | got:4 (bytes) | got:4 (bytes) | uses | atEnd dry (end)"
        ),
        // While no limit holds, a read tries for itself; under a limit it waits for the waker.
        (
            "open opened notYet read:4 limited read:4 woken read:4 brings:4",
            "opening | uses | open (open) | uses | - | waits | wakes | uses | -"
        ),
        // The waker may come before the use is over.
        (
            "open opened woken notYet look brings:0",
            "opening | uses | - | look! open (open) | uses | -"
        ),
        // A second read waits for the first.
        (
            "open opened readable read:4 read:4 brings:4 read:4 close brings:4",
            "opening | uses | open available (open) (bytes) | uses | waits | wakes dry | uses | closed | -"
        ),
        // The end of a stream leaves the reader to whoever is busy with it.
        (
            "open opened readable read:4 cancel brings:4 close",
            "opening | uses | open available (open) (bytes) | uses | failed dry (error) | - | closed"
        ),
        // An opening that fails.
        (
            "open refused open read:1 close",
            "opening | failed (error) | - | got:-1 | closed"
        ),
        // An error comes once the bytes before it are read.
        (
            "open opened readable read:4 error read:4 seek:0 open",
            "opening | uses | open available (open) (bytes) | uses | failed dry (error) | got:-1 | refused | -"
        ),
        // Opened again at the end.
        (
            "open opened end open opened end",
            "opening | uses | atEnd (open) (end) | opening | uses | atEnd (open) (end)"
        ),
        // The offset, before opening, back and forth.
        (
            "seek:7 open opened readable read:3 brings:3 seek:3 opened readable seek:6",
            "set | opening | uses | open available (open) (bytes) | uses | dry | runs | uses | available (bytes) | runs dry"
        ),
        // The offset is set while a read runs, which then counts no more.
        (
            "open opened readable read:3 seek:9 brings:3 opened readable",
            "opening | uses | open available (open) (bytes) | uses | runs dry | - | uses | available (bytes)"
        ),
        // Calls in the wrong order.
        (
            "read:1 open read:1 close read:1 open",
            "got:-1 | opening | starts | closed | got:-1 | -"
        ),
    ])
    func aTimelineComesToWhatIsDrawn(_ timeline: String, _ expected: String) throws {
        var drawing = StreamTimeline()
        let result = try drawing.play(timeline)
        #expect(result == expected)
    }

    /// Whatever comes in whichever order: one use at a time, each reader closed once, nobody left waiting.
    @Test func drawnTimelinesKeepTheirPromises() throws {
        let rounds = environmentNumber("BLOBSTREAMS_ROUNDS") ?? 3000
        let seed = UInt64.random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        let words = [
            "open", "opened", "opened", "blocking", "refused", "look", "woken", "woken", "read:1", "read:5", "read:20",
            "seek:0", "seek:9", "brings:3", "brings:5", "brings:1", "keeps:7", "readable", "limited", "notYet",
            "notYet",
            "end", "error", "cancel", "close",
        ]
        for _ in 0..<rounds {
            var drawing = StreamTimeline()
            var timeline: [String] = []
            for _ in 0..<40 {
                // Words that end a stream are drawn more rarely.
                let bound = random.next(10) == 0 ? words.count : words.count - 4
                let word = words[random.next(bound)]
                timeline.append(word)
                _ = try drawing.step(word)
                let uses = drawing.uses.filter { $0.sessionID == drawing.machine.session?.id }
                #expect(uses.count <= 1, "\(seed): \(timeline)")
                #expect(uses.isEmpty == !(drawing.machine.session?.isInUse ?? false), "\(seed): \(timeline)")
                #expect(drawing.state.byteOffset == drawing.answeredByteCount, "\(seed): \(timeline)")
            }
            _ = try drawing.play("close" + String(repeating: " brings:1", count: drawing.uses.count))
            #expect(drawing.state.phase == .closed)
            let closed = drawing.closedReaders.map { ObjectIdentifier($0) }
            #expect(closed.count == drawing.givenReaders.count, "\(seed): \(timeline)")
            #expect(Set(closed).count == closed.count, "\(seed): \(timeline)")
            #expect(drawing.waiters.allSatisfy { $0.wait(for: .zero) }, "\(seed): \(timeline)")
        }
    }
}
