import BlobCore
import BlobPlatform

/// The checks of `isOpen`, `info` and `neverBlocks`.
extension Kit {
    /// The time in which a call that never blocks must return, or a waker be called, with a margin for loaded machines.
    private static let callTimeLimit = Duration.seconds(1)

    /// C8: the info is final once it is known.
    func checkFinalInfo() throws {
        let pass = try self.open(capacity: 64)
        var known: BlobInfo?
        for _ in 0..<512 {
            let step = try pass.attempt()
            let info = pass.reader.isOpen ? pass.reader.info : nil
            if let known, known != info {
                return self.findings.add(
                    8, "The info of an open reader changed from \(known) to \(info ?? BlobInfo()).")
            }
            known = info
            guard step != .end else { return }
            if step == nil { try pass.waitUntilReadable() }
        }
    }

    /// C1: the slot is fired when the info is known, even before bytes are available.
    func checkWakerAtOpening() throws {
        let fault = try Self.everyTime {
            let pass = try self.open(capacity: 64)
            let reader = pass.reader
            guard !reader.isOpen, try pass.checkedAttempt() == nil, !reader.isOpen else { return String?.none }
            let recordingWaker = RecordingWaker()
            reader.whenReadable(recordingWaker.waker)
            let end = ContinuousClock.now + self.waitLimit
            while !reader.isOpen, !recordingWaker.wait(for: .milliseconds(1)), ContinuousClock.now < end {}
            // It may also have opened with an end or an error: the waker must be called in any case.
            return recordingWaker.wait(for: Self.callTimeLimit) ? nil : "The slot is not fired when the info is known."
        }
        if let fault { self.findings.add(1, fault) }
    }

    /// C16: the traits and `neverBlocks` are constant, and `neverBlocks` is true only if no call blocks, at any offset
    /// and with any validator.
    func checkNeverBlocks() throws {
        for (byteOffset, isMatching) in self.openings {
            guard let call = try Self.everyTime({ try self.slowCall(at: byteOffset, isMatching: isMatching) }) else {
                continue
            }
            let place = byteOffset > 0 || isMatching ? " (opened at an offset or with a validator)" : ""
            return self.findings.add(16, "A call to '\(call)'\(place) blocks, although 'neverBlocks' is true.")
        }
    }

    /// Returns the name of a call that takes too long although it must never block; nil if all calls are quick.
    private func slowCall(at byteOffset: Int64, isMatching: Bool) throws -> String? {
        var slow: String?
        let source = try self.makeSource()
        let validator = isMatching ? try source.info().validator : nil
        let traits = source.traits
        let says = traits.contains(.neverBlocks)
        func measure<Value>(_ name: String, _ neverBlocks: Bool, _ call: () throws -> Value) rethrows -> Value {
            let start = ContinuousClock.now
            defer { if neverBlocks, ContinuousClock.now - start > Self.callTimeLimit { slow = name } }
            return try call()
        }
        let reader = try measure("open", says) { try source.open(at: byteOffset, matching: validator) }
        let neverBlocks = says || reader.neverBlocks
        var isConstant = true
        let pass = Pass(reader, self, capacity: 4096)
        for _ in 0..<64 {
            let step = try measure("read", neverBlocks) { try pass.attempt() }
            isConstant = isConstant && (says || neverBlocks == reader.neverBlocks)
            if step == .end { break }
            guard step == nil else { continue }
            let recordingWaker = RecordingWaker()
            measure("whenReadable", neverBlocks) { reader.whenReadable(recordingWaker.waker) }
            guard recordingWaker.wait(for: self.waitLimit) else { return nil }
        }
        if source.traits != traits { self.findings.add(16, "The traits of the source are not constant.") }
        if !isConstant { self.findings.add(16, "'neverBlocks' of a reader is not constant.") }
        measure("close", neverBlocks) { reader.close() }
        return slow
    }
}
