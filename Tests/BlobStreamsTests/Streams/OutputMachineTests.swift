import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

/// The decisions of an output stream, alone: each timeline is drawn in words, and the outcome of each word stands below
/// it.
struct OutputMachineTests {
    @Test(arguments: [
        // Opened, filled, emptied again by the reader, ended.
        (
            "open write:3 full write:0 room write:2 close write:1",
            "open room (open) (space) | 3 (space) | noRoom | - | room (space) | 5 (space) | closed noRoom clean | refused"
        ),
        // Calls in the wrong order.
        (
            "write:1 close open close open",
            "refused | - | open room (open) (space) | closed noRoom clean | -"
        ),
        // Ended with an error, also before it was opened; a second ending tells the first.
        (
            "break close open",
            "closed broken | broken | -"
        ),
        // The reader goes: while nobody writes, in a write, before the opening.
        ("open gone write:1", "open room (open) (space) | failed noRoom (error) broken | refused"),
        ("open goneWhileWriting:1 close", "open room (open) (space) | failed noRoom (error) broken | closed broken"),
        ("gone open", "- | failed (error) broken"),
        // A cancellation ends the stream once, and the bytes.
        (
            "open cancel cancel write:1 close",
            "open room (open) (space) | failed noRoom (error) broken | - | refused | closed broken"
        ),
        // A limit holds for each wait for room: one that is over ends nothing.
        (
            "limit:60 open full look full room look full",
            "- | open room (open) (space) | noRoom later | later | - | room (space) | - | noRoom later"
        ),
        ("limit:0 open look full look", "- | open room (open) (space) | - | noRoom later | failed (error) broken"),
    ])
    func aTimelineComesToWhatIsDrawn(_ timeline: String, _ expected: String) throws {
        var drawing = OutputTimeline()
        #expect(drawing.play(timeline) == expected)
    }
}

/// An output stream's decisions played word by word: no pipe, no thread.
private struct OutputTimeline {
    private var machine = OutputMachine(BlobContext())
    private var state = BlobOutputStreamState()
    private var room = PipeBuffer.Room.some
    private var trace: [String] = []
    private static let reason = BlobError(.closed, "Gone.")

    mutating func play(_ timeline: String) -> String {
        timeline.split(separator: " ").map { self.step(String($0)) }.joined(separator: " | ")
    }

    private mutating func step(_ word: String) -> String {
        self.trace = []
        let old = self.state
        let parts = word.split(separator: ":").map(String.init)
        let number = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        var actions: [OutputMachine.Action] = []
        switch parts[0] {
        case "limit": self.machine = OutputMachine(BlobContext(idleLimit: .seconds(number)))
        case "open": actions = self.machine.open(self.room, Self.reason, &self.state)
        case "write": actions = self.write(.success(number))
        case "goneWhileWriting":
            self.room = .readerIsGone
            actions = self.write(.failure(Self.reason))
        case "full", "room", "gone":
            self.room = ["full": .none, "room": .some][word] ?? .readerIsGone
            actions = self.machine.updateRoom(self.room, Self.reason, &self.state)
        case "look": actions = self.machine.checkLimit(&self.state)
        case "cancel": actions = self.machine.fail(BlobError(.cancelled, "Stop."), &self.state)
        case "break": actions = self.machine.finish(BlobError(.io, "No."), includingUnopened: true, &self.state)
        case "close": actions = self.machine.finish(nil, includingUnopened: false, &self.state)
        default: preconditionFailure("There is no such word: \(word)")
        }
        self.note(changesFrom: old)
        for action in actions {
            switch action {
            case .finish(let ending): self.trace.append(ending.error == nil ? "clean" : "broken")
            case .checkLimitLater: self.trace.append("later")
            case .signal, .invalidate: break
            }
        }
        return self.trace.isEmpty ? "-" : self.trace.joined(separator: " ")
    }

    private mutating func write(_ result: Result<Int, BlobError>) -> [OutputMachine.Action] {
        guard self.machine.beginWrite(self.state) else {
            self.trace.append("refused")
            return []
        }
        return self.machine.endWrite(result, self.room, Self.reason, &self.state)
    }

    private mutating func note(changesFrom old: BlobOutputStreamState) {
        if self.state.phase != old.phase { self.trace.append("\(self.state.phase)") }
        if self.state.byteOffset != old.byteOffset { self.trace.append("\(self.state.byteOffset)") }
        if self.state.hasSpaceAvailable != old.hasSpaceAvailable {
            self.trace.append(self.state.hasSpaceAvailable ? "room" : "noRoom")
        }
        let names: [(Stream.Event, String)] = [
            (.openCompleted, "open"), (.hasSpaceAvailable, "space"), (.errorOccurred, "error"),
        ]
        for (event, name) in names where self.machine.events.pendingEvents.contains(event) {
            self.machine.events.drop(event)
            self.trace.append("(\(name))")
        }
    }
}
