import Foundation

@testable import BlobCore
@testable import BlobStreams

/// A stream's decisions played word by word: no source, no thread, no clock.
struct StreamTimeline {
    final class Reader {}
    typealias Machine = StreamMachine<Reader>

    private(set) var machine = Machine()
    private(set) var state = BlobStreamState()
    private(set) var uses: [Machine.Use] = []
    private(set) var closedReaders: [Reader] = []
    private(set) var givenReaders: [Reader] = []
    private(set) var answeredByteCount: Int64 = 0
    private(set) var waiters: [WaitSignal] = []
    private(set) var cancelledCount = 0
    private var trace: [String] = []

    /// Plays the words of a timeline.
    ///
    /// - Returns: For each word what came of it, separated by " | ".
    mutating func play(_ timeline: String) throws -> String {
        try timeline.split(separator: " ").map { try self.step(String($0)) }.joined(separator: " | ")
    }

    /// Plays one word.
    ///
    /// - Returns: Answers, changes of the state, events and actions, in this order.
    mutating func step(_ word: String) throws -> String {
        self.trace = []
        let old = self.state
        let parts = word.split(separator: ":").map(String.init)
        let number = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        switch parts[0] {
        case "open":
            let (_, actions) = self.machine.open(isRepeatable: true, &self.state)
            self.perform(actions)
            if self.state.phase == .opening { self.answeredByteCount = self.state.byteOffset }
        case "opened", "blocking", "refused": self.finishOpening(parts[0])
        case "look": self.begin(self.machine.beginCheckForBytes(self.state))
        case "woken": self.perform(self.machine.readerDidWake(self.machine.session?.id ?? 0))
        case "read": self.read(number)
        case "seek": self.seek(Int64(number))
        case "brings": self.finish(Machine.Outcome(appended: number))
        case "keeps": self.finish(Machine.Outcome(window: try Self.window(number)))
        case "readable": self.finish(Machine.Outcome(isReadable: true))
        case "notYet": self.finish(Machine.Outcome(result: .success(.notYet)))
        case "limited": self.finish(Machine.Outcome(isLimited: true, result: .success(.notYet)))
        case "end": self.finish(Machine.Outcome(result: .success(.end)))
        case "error": self.finish(Machine.Outcome(result: .failure(BlobError(.io, "No."))))
        case "cancel": self.perform(self.machine.fail(BlobError(.cancelled, "Stop."), &self.state))
        case "close": self.perform(self.machine.close(includingUnopened: true, &self.state))
        default: preconditionFailure("There is no such word: \(word)")
        }
        self.note(changesFrom: old)
        return self.trace.isEmpty ? "-" : self.trace.joined(separator: " ")
    }

    private mutating func finishOpening(_ word: String) {
        guard let id = self.machine.session?.id, self.machine.start(id) != nil else { return }
        let reader = Reader()
        if word != "refused" { self.givenReaders.append(reader) }
        let result: Result<Reader, BlobError> = word == "refused" ? .failure(BlobError(.io, "No.")) : .success(reader)
        let (use, actions) = self.machine.opened(id, result, neverBlocks: word == "opened", &self.state)
        self.perform(actions)
        self.begin(use)
    }

    private mutating func read(_ count: Int) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { buffer.deallocate() }
        let waiter = WaitSignal()
        let (step, actions) = self.machine.beginRead(into: buffer, waiter, &self.state)
        self.perform(actions)
        switch step {
        case .done(let count): self.answer(count)
        case .publishOutcome(let count):
            self.publishOutcome()
            if let count { self.answer(count) }
        case .start: self.trace.append("starts")
        case .use(let use, let count):
            self.answeredByteCount += Int64(count)
            self.begin(use)
        case .wait:
            self.waiters.append(waiter)
            self.trace.append("waits")
        }
    }

    private mutating func answer(_ count: Int) {
        self.answeredByteCount += Int64(max(count, 0))
        self.trace.append("got:\(count)")
    }

    private mutating func seek(_ byteOffset: Int64) {
        let waiter = WaitSignal()
        let (step, actions) = self.machine.beginSettingOffset(
            byteOffset, [.repeatable, .concurrentReaders], .asynchronous, waiter, &self.state)
        self.perform(actions)
        switch step {
        case .done(let isSet):
            self.trace.append(isSet ? "set" : "refused")
            if isSet { self.answeredByteCount = self.state.byteOffset }
        case .restart: (self.answeredByteCount, self.trace) = (byteOffset, self.trace + ["runs"])
        case .skip(let use, _):
            self.answeredByteCount = byteOffset
            self.begin(use)
        case .wait:
            self.waiters.append(waiter)
            self.trace.append("waits")
        case .start, .replace: self.trace.append("synchronous")
        }
    }

    private mutating func begin(_ use: Machine.Use?) {
        guard let use else { return }
        self.uses.append(use)
        self.trace.append("uses")
    }

    private mutating func finish(_ outcome: Machine.Outcome) {
        guard !self.uses.isEmpty else { return }
        let use = self.uses.removeFirst()
        if self.machine.session?.id == use.sessionID { self.answeredByteCount += Int64(outcome.appended) }
        let info = use.isOpenCompleted ? nil : BlobInfo(isRandomAccess: true)
        let (hasMore, actions) = self.machine.finish(use, outcome, opening: info, &self.state)
        self.perform(actions)
        if hasMore { self.publishOutcome() }
    }

    private mutating func publishOutcome() {
        var hasMore = true
        while hasMore {
            let old = self.state
            let (more, actions) = self.machine.publishOutcome(&self.state)
            self.perform(actions)
            hasMore = more
            if more { self.note(changesFrom: old) }
        }
    }

    private mutating func perform(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .close(let reader): self.closedReaders.append(reader)
            case .wake(let signals):
                for signal in signals { signal.signal() }
                self.trace.append("wakes")
            case .checkForBytes: self.trace.append("look!")
            case .cancel: self.cancelledCount += 1
            case .signal, .invalidate, .ended, .release: break
            }
        }
    }

    private mutating func note(changesFrom old: BlobStreamState) {
        if self.state.phase != old.phase { self.trace.append("\(self.state.phase)") }
        if self.state.hasBytesAvailable != old.hasBytesAvailable {
            self.trace.append(self.state.hasBytesAvailable ? "available" : "dry")
        }
        for event in [Stream.Event.openCompleted, .hasBytesAvailable, .errorOccurred, .endEncountered]
        where self.machine.events.pendingEvents.contains(event) {
            self.machine.events.drop(event)
            self.trace.append("(\(event))")
        }
    }

    private static func window(_ count: Int) throws -> Window {
        let window = Window(count)
        _ = try window.fill { try MemorySource(count: count).open().read(into: &$0) }
        return window
    }
}
