import BlobCore
import BlobPlatform

/// The checks of `isOpen`, `info` and `neverBlocks`.
extension Kit {
    /// The time in which a call that never blocks must return, or a waker be called, with a margin for loaded machines.
    private static let callTimeLimit = Duration.seconds(1)
    private static let attemptCount = 3

    /// C5, C8: a reader opens once, with its first byte or end at the latest, and its info is final from then on.
    func checkIsOpen() throws {
        let pass = try self.open(capacity: 64)
        let reader = pass.reader
        var known = reader.isOpen ? reader.info : nil
        for _ in 0..<512 {
            let step = try pass.attempt()
            let isOpen = reader.isOpen
            if !isOpen, known != nil { return self.findings.add(5, "A reader that was open is not open any more.") }
            if !isOpen, let step {
                let news = step == .end ? "the end" : "bytes"
                return self.findings.add(5, "A read gave \(news) and the reader is not open.")
            }
            if let known, known != reader.info {
                return self.findings.add(8, "The info of an open reader changed from \(known) to \(reader.info).")
            }
            if isOpen, known == nil { known = reader.info }
            guard step != .end else { return }
            if step == nil { try pass.waitUntilReadable() }
        }
    }

    /// C1: the waker is called when a reader opens, even before bytes are available.
    func checkWakerAtOpening() throws {
        for attempt in 1...Self.attemptCount {
            let walk = try self.walk()
            let reader = walk.reader
            guard !reader.isOpen, try walk.attempt() == .notYet, !reader.isOpen else { return }
            let bell = RecordingWaker()
            reader.whenReadable(bell.waker)
            let end = ContinuousClock.now + self.patience
            while !reader.isOpen, !bell.wait(for: .milliseconds(1)), ContinuousClock.now < end {}
            // The reader may also have opened for an end or an error: the waker must be called in any case.
            guard !bell.wait(for: Self.callTimeLimit) else { return }
            if attempt == Self.attemptCount { self.findings.add(1, "The waker is not called when the reader opens.") }
        }
    }

    /// C12: the traits and `neverBlocks` are constant, and `neverBlocks` is true only if no call blocks.
    func checkNeverBlocks() throws {
        var slow: String?
        for _ in 0..<Self.attemptCount {
            slow = nil
            let source = try self.makeSource()
            let traits = source.traits
            let says = traits.contains(.neverBlocks)
            func measure<Value>(_ name: String, _ neverBlocks: Bool, _ call: () throws -> Value) rethrows -> Value {
                let start = ContinuousClock.now
                defer { if neverBlocks, ContinuousClock.now - start > Self.callTimeLimit { slow = name } }
                return try call()
            }
            let reader = try measure("makeReader", says) {
                try source.makeReader(at: 0, matching: nil, context: BlobContext())
            }
            let neverBlocks = says || reader.neverBlocks
            var isConstant = true
            let pass = Pass(reader, self.findings, capacity: 4096, patience: self.patience)
            reading: for _ in 0..<64 {
                let step = try measure("read", neverBlocks) { try pass.attempt() }
                isConstant = isConstant && (says || neverBlocks == reader.neverBlocks)
                if step == .end { break }
                guard step == nil else { continue }
                let bell = RecordingWaker()
                measure("whenReadable", neverBlocks) { reader.whenReadable(bell.waker) }
                guard bell.wait(for: self.patience) else { return }
            }
            if source.traits != traits { self.findings.add(12, "The traits of the source are not constant.") }
            if !isConstant { self.findings.add(12, "'neverBlocks' of a reader is not constant.") }
            measure("close", neverBlocks) { reader.close() }
            // On a busy machine a thread may wait that long for a core: only a call that is late every time blocks.
            if slow == nil { return }
        }
        if let slow { self.findings.add(12, "A call of '\(slow)' blocks, although 'neverBlocks' is true.") }
    }
}
