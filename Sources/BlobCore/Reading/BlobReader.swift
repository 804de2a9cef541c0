/// One pass over the bytes of a source.
///
/// The only reader that users see, and the only object that keeps state: it tracks the offset, the end, a failure and
/// the closing of a plugin's body, skips, waits and lends, and adds context to errors. It enforces the plugin's
/// contracts (C1, C5, C7, C8): a plugin that breaks one is reported as ``BlobError/Code/misbehavingPlugin`` instead of
/// delivering wrong bytes. It adds a few comparisons and no copy to a read.
///
/// A reader has one owner, which makes one call at a time, on any thread.
public final class BlobReader {
    private enum Phase {
        case reading, ended, closed
        case failed(BlobError)
    }

    /// The stream of the body that the plugin returned.
    package private(set) var stream: any BlobByteStream
    /// The stream, as long as another may replace it. Cast once: casting an object to a protocol takes longer than
    /// calling it.
    private var lateStream: (any LateStream)?
    /// The source; nil if the body belongs to the source of the reader over this one.
    private let source: (any BlobInputStreamDataSource)?
    let context: BlobContext
    private var phase = Phase.reading
    private var declaredContent: DeclaredContent
    private var bytesToSkip = BytesToSkip(0)
    // Changed as a copy, as `declaredContent` is, so that the compiler can prove that no access overlaps another;
    // otherwise it would check that at run time, with each read.
    private(set) var wait = ReaderWait()
    /// The bytes that were taken from the stream but neither delivered nor skipped.
    private var heldBytes: BlobBytes?
    /// The error to throw after the bytes that were delivered with it.
    private var pendingError: (any Error)?

    /// The offset of the next byte of the stream, from the start of the blob.
    private var streamOffset: Int64

    /// The reading of the source, if it is observed.
    private var activity: BlobActivity?

    /// The offset at which the activity is next told how far reading has come.
    private var reportOffset = Int64.max

    /// True if the reader over this one checks the context and limits the waits of both.
    private(set) var defersChecks = false

    convenience init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, matching validator: BlobValidator?,
        context: BlobContext
    ) throws(BlobError) {
        let own = context.beginning(.read, of: source, at: byteOffset)
        let activity = own.activity === context.activity ? nil : own.activity
        let opening = BlobOpening(at: byteOffset, matching: validator, context: own)
        do {
            try self.init(source, opening) { try source.makeBody(opening) }
        } catch {
            activity?.end(error)
            throw error
        }
        if let activity { self.observe(activity) }
    }

    /// Opens a reader of a body, for a layer of the same source over it; that layer adds the context to errors.
    ///
    /// - Throws: The errors of ``BlobInputStreamDataSource/open(at:matching:context:)``.
    package convenience init(_ body: BlobBody, _ opening: BlobOpening) throws(BlobError) {
        try self.init(nil, opening) { body }
    }

    private init(
        _ source: (any BlobInputStreamDataSource)?, _ opening: BlobOpening, _ makeBody: () throws -> BlobBody
    ) throws(BlobError) {
        self.source = source
        self.declaredContent = DeclaredContent(matching: opening.validator)
        self.context = opening.context
        do {
            try opening.context.check()
            try BlobInfo().check(byteOffset: opening.byteOffset, matching: nil)
            let started = try makeBody().start(opening)
            (self.stream, self.streamOffset) = (started.stream, opening.byteOffset)
            try self.adopt(started)
        } catch {
            throw BlobError(wrapping: error).passing(source, operation: "open", byteOffset: opening.byteOffset)
        }
        do {
            try self.updateFacts(isOpening: true)
        } catch {
            let error = self.inContext(error, "open")
            self.close()
            throw error
        }
    }

    deinit { self.close() }

    /// The facts about exactly the bytes that are being read; all are unknown while ``isOpen`` is false.
    public var info: BlobInfo {
        guard case .reading = self.phase else { return (try? self.stream.info) ?? BlobInfo() }
        return (try? self.knownInfo()) ?? BlobInfo()
    }

    /// True if the facts are known, or if bytes or the end have been read. The first access starts to determine the
    /// facts.
    public var isOpen: Bool {
        if self.declaredContent.isKnown { return true }
        // After an error, the next read throws it.
        return (try? self.knownInfo()) != nil
    }

    /// True if the source, or this reader of it, never blocks.
    public var neverBlocks: Bool { self.stream.neverBlocks || self.source?.traits.contains(.neverBlocks) == true }

    /// The locator of the source.
    package var locator: BlobLocator? { self.source?.locator }

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 {
        self.streamOffset - Int64(self.heldBytes?.count ?? 0) + self.bytesToSkip.remainingByteCount
    }

    /// The slot that fires when a read that returned ``BlobReadResult/notYet`` is worth trying again; accessed after
    /// each such read. For streams that read this reader.
    public var readiness: BlobWakerSlot? { self.stream.readiness }

    /// True after an error has been thrown; every later read throws the same error.
    package var hasFailed: Bool {
        if case .failed = self.phase { true } else { false }
    }

    /// True once a read reached the end and every check at the end passed.
    package var hasEnded: Bool {
        if case .ended = self.phase, self.heldBytes == nil { true } else { false }
    }

    // MARK: Reading

    /// Reads the next bytes. If the output is full, reads nothing and returns `bytes`.
    public func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch self.phase {
        case .failed(let error) where self.heldBytes == nil: throw error
        case .closed: throw self.inContext(BlobError(.closed, "The reader is closed."), "read")
        case .reading, .ended, .failed: break
        }
        guard !self.hasEnded else { return .end }
        guard output.freeCapacity > 0 else { return .bytes }
        do {
            if !self.defersChecks { try self.context.check() }
            try self.updateFacts()
            var result = try self.skipAndRead(into: &output)
            // The stream was replaced, or its slot was fired meanwhile: bytes may have arrived just after the read.
            if result == .notYet, try self.isWorthTryingAgain() {
                if !self.defersChecks { try self.context.check() }
                try self.updateFacts()
                result = try self.skipAndRead(into: &output)
            }
            guard result == .notYet else {
                if !self.defersChecks { self.endWait() }
                return result
            }
            guard let slot = self.readiness else {
                throw BlobError(.misbehavingPlugin, "A read returned 'notYet', but there is no slot for a waker (C1).")
            }
            if !self.defersChecks {
                try self.changeWait { wait throws(BlobError) in try wait.begin(self.context, slot) }
            }
            return .notYet
        } catch {
            throw self.fail(error)
        }
    }

    /// Registers a waker that is called once when a read is worth trying again, and also when the job is cancelled or
    /// its time is up. Replaces the previous one; called at once if a read is already worth trying. Spurious calls are
    /// possible, missing ones are not.
    public func whenReadable(_ waker: BlobWaker) {
        guard case .reading = self.phase else {
            if case .closed = self.phase { return }
            return waker.wake()
        }
        guard let slot = self.readiness,
            self.changeWait({ $0.beginStoring(in: slot, self.context) })
        else { return waker.wake() }
        slot.store(waker)
    }

    /// Calls the consumer's waker after a call, other than a read, that made the stream wait for another event, or
    /// fail: only a read arms the new slot, and limits the wait for it.
    private func wakeAfterChange() {
        guard self.wait.hasWaker else { return }
        let isReading = if case .reading = self.phase { true } else { false }
        self.changeWait { $0.takeWaker(unlessIn: isReading ? self.readiness : nil) }?.wake()
    }

    /// Skips bytes, which the next read discards.
    ///
    /// - Parameter byteCount: The number of bytes to skip, at least 0. The next read throws
    ///   ``BlobError/Code/invalidArgument`` if the new offset is past the end.
    package func skip(_ byteCount: Int64) {
        precondition(byteCount >= 0, "The number of bytes to skip must not be negative.")
        guard case .reading = self.phase else { return }
        self.bytesToSkip.remainingByteCount += byteCount
    }

    /// Lends the next bytes in memory, if any, without consuming them.
    ///
    /// - Returns: The bytes; nil if no bytes are in memory, or if the next read will throw.
    package func lend() -> BlobBytes? {
        guard self.isReadable, self.bytesToSkip.remainingByteCount == 0, (try? self.context.check()) != nil else {
            return nil
        }
        if let heldBytes { return heldBytes.sharedBytes }
        do {
            guard try self.updateFactsOutsideOfRead(), self.bytesToSkip.remainingByteCount == 0,
                let bytes = try self.stream.readBytes(at: self.streamOffset, atMost: .max)
            else {
                return nil
            }
            try self.advance(by: bytes.count)
            self.endWait()
            self.heldBytes = bytes
            return bytes.sharedBytes
        } catch {
            _ = self.fail(error)
            return nil
        }
    }

    /// Returns the next bytes without a copy, and advances past them; nil if no bytes are in memory.
    ///
    /// - Parameter byteCount: The maximum number of bytes, at least 1.
    /// - Throws: The errors of ``read(into:)``.
    public func readBytes(atMost byteCount: Int) throws -> BlobBytes? {
        guard self.isReadable else { return nil }
        if self.heldBytes != nil, self.bytesToSkip.remainingByteCount == 0 { return self.takeHeld(byteCount) }
        guard !self.hasEnded else { return nil }
        defer { self.wakeAfterChange() }
        do {
            if !self.defersChecks { try self.context.check() }
            guard try self.updateFactsOutsideOfRead(), self.bytesToSkip.remainingByteCount == 0,
                let bytes = try self.stream.readBytes(at: self.streamOffset, atMost: byteCount)
            else {
                return nil
            }
            try self.advance(by: bytes.count)
            bytes.didDeliver(bytes.count)
            if !self.defersChecks { self.endWait() }
            return bytes
        } catch {
            throw self.fail(error)
        }
    }

    /// Returns the next `byteCount` bytes without advancing past them, fewer only at the end; nil if they are not
    /// available yet.
    public func peek(_ byteCount: Int) throws -> BlobBytes? {
        if (self.heldBytes?.count ?? 0) < byteCount, !self.hasEnded {
            let window = Window(byteCount)
            if var heldBytes = self.heldBytes.take() {
                window.fill { heldBytes.move(to: &$0) }
                heldBytes.didDeliver(window.count)
            }
            // Also after an error, which is thrown after the bytes before it.
            defer { self.heldBytes = window.isEmpty ? nil : BlobBytes(window.bytes, ownedBy: window) }
            while window.count < byteCount, !self.hasEnded {
                if try window.append({ try self.read(into: &$0) }) == .notYet { return nil }
            }
        }
        var peeked = self.peeked
        return peeked.removeFirst(atMost: byteCount)
    }

    /// The bytes that were taken from the stream but neither delivered nor skipped, even after an error.
    package var peeked: BlobBytes { self.heldBytes?.sharedBytes ?? .none }

    private var isReadable: Bool {
        switch self.phase {
        case .reading, .ended: true
        case .failed: self.heldBytes != nil
        case .closed: false
        }
    }

    /// Frees the resources of the reader; later reads throw ``BlobError/Code/closed``. May be called twice.
    public func close() {
        if case .closed = self.phase { return }
        self.endActivity()
        let stream = self.takeStream().stream
        stream.close()
    }

    /// Hands over the stream without closing it, and closes this reader.
    func takeStream() -> StartedStream {
        let stream = StartedStream(
            stream: self.stream, byteOffset: self.streamOffset, heldBytes: self.heldBytes,
            activity: self.activity.take())
        self.phase = .closed
        (self.stream, self.lateStream, self.heldBytes) = (ClosedStream(), nil, nil)
        self.changeWait { $0.close() }
        return stream
    }

    /// A placeholder for a stream that was released.
    private final class ClosedStream: BlobByteStream {
        var info: BlobInfo? { nil }
        func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult { .end }
    }

    /// Lets the reader over this one, if it has the same cancellation and limits, check the context for both.
    package func deferChecks(to context: BlobContext) {
        self.defersChecks =
            self.context.cancellation === context.cancellation && self.context.hasSameLimits(as: context)
    }

    /// Returns the facts about the bytes; nil if they are not known yet. The first call starts to determine them.
    ///
    /// - Throws: The errors of ``read(into:)``.
    package func knownInfo() throws -> BlobInfo? {
        switch self.phase {
        case .failed(let error): throw error
        case .closed: throw self.inContext(BlobError(.closed, "The reader is closed."), "open")
        case .reading, .ended: break
        }
        defer { self.wakeAfterChange() }
        do {
            guard try self.updateFactsOutsideOfRead() else { return nil }
            return try self.stream.info ?? BlobInfo()
        } catch {
            throw self.fail(error)
        }
    }

    // MARK: The stream

    /// True if all declared bytes have been read and only the check of the end is left.
    package var isAtDeclaredEnd: Bool {
        self.declaredContent.isKnown && self.heldBytes == nil && self.streamOffset == self.declaredContent.byteCount
    }

    /// Continues with the stream of `started`.
    private func adopt(_ started: StartedStream) throws(BlobError) {
        let (offset, heldByteCount) = (self.byteOffset, Int64(started.heldBytes?.count ?? 0))
        guard started.byteOffset >= heldByteCount, started.byteOffset - heldByteCount <= offset else {
            throw BlobError(
                .misbehavingPlugin,
                "The body starts at byte \(started.byteOffset), but was opened at byte \(offset) (C5).")
        }
        (self.stream, self.streamOffset, self.heldBytes) = (started.stream, started.byteOffset, started.heldBytes)
        self.lateStream = started.stream as? any LateStream
        if let activity = started.activity { self.observe(activity) }
        self.bytesToSkip.remainingByteCount = offset - started.byteOffset + heldByteCount
    }

    /// Replaces a late stream with its successor, if it has one.
    ///
    /// - Returns: True if the stream was replaced.
    private func adoptSuccessor(isOpening: Bool = false) throws -> Bool {
        guard let late = self.lateStream, let next = try late.successor(isOpening: isOpening) else { return false }
        try self.adopt(next)
        return true
    }

    /// Checks the facts once they are known.
    ///
    /// - Returns: True if they are known.
    @discardableResult
    private func updateFacts(isOpening: Bool = false) throws -> Bool {
        if self.declaredContent.isKnown { return true }
        while try self.adoptSuccessor(isOpening: isOpening) {}
        return try self.updateDeclaredContent()
    }

    /// Does the same as ``updateFacts(isOpening:)``, in a call that reads no bytes. A replaced stream may have read the
    /// bytes for which its slot was fired, and its successor has requested nothing yet: only a read arms the slot
    /// again.
    private func updateFactsOutsideOfRead() throws -> Bool {
        let stream = self.stream
        defer { if self.stream !== stream { self.readiness?.fire() } }
        return try self.updateFacts()
    }

    private func updateDeclaredContent() throws -> Bool {
        if self.declaredContent.isKnown { return true }
        guard let info = try self.stream.info else { return false }
        try self.declare(info)
        return true
    }

    private func declare(_ info: BlobInfo) throws(BlobError) {
        var declaredContent = self.declaredContent
        try declaredContent.check(info, at: self.byteOffset)
        self.declaredContent = declaredContent
    }

    private func endWait() { if self.wait.isWaiting { self.changeWait { $0.end() } } }

    func changeWait<Result, Failure: Error>(
        _ change: (inout ReaderWait) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var wait = self.wait
        defer { self.wait = wait }
        return try change(&wait)
    }

    /// True if limits apply to a wait that begins now.
    package var isLimited: Bool {
        get { self.wait.isLimited }
        set { self.wait.isLimited = newValue }
    }

    /// True if the stream was replaced, or its slot was fired during the read.
    private func isWorthTryingAgain() throws -> Bool {
        var isReplaced = false
        while try self.adoptSuccessor() { isReplaced = true }
        return isReplaced || self.readiness?.takeFired() ?? false
    }

    private func skipAndRead(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.bytesToSkip.remainingByteCount > 0 {
            let offset = self.byteOffset
            var skipped = self.bytesToSkip
            defer { self.bytesToSkip = skipped }
            let result = try skipped.drop(using: &output, before: offset) { try self.readChecked(into: &$0) }
            if let result { return result }
        }
        return try self.readChecked(into: &output)
    }

    private func readChecked(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.heldBytes != nil {
            self.deliverHeld(to: &output)
            return .bytes
        }
        if let pending = self.pendingError { throw pending }
        switch self.phase {
        case .ended: return .end
        case .failed(let error): throw error
        case .reading, .closed: break
        }
        // The byte count is not declared while the facts are unknown.
        let room = self.declaredContent.byteCount.map { Int(clamping: $0 - self.streamOffset) } ?? .max
        guard room > 0 else { return try self.confirmEnd() }
        let before = output.byteCount
        do {
            var result = BlobReadResult.end
            if before == 0, room >= output.freeCapacity {
                result = try self.stream.read(at: self.streamOffset, into: &output)
            } else {
                // Limits the plugin to the bytes that it declared, and hides bytes that are already in the output.
                try output.append(atMost: room) { result = try self.stream.read(at: self.streamOffset, into: &$0) }
            }
            try self.check(result, output.byteCount - before)
            return result
        } catch {
            output.removeLast(output.byteCount - before)
            throw error
        }
    }

    /// Checks that the result of a read, the bytes that it appended and the declared content agree.
    private func check(_ result: BlobReadResult, _ appended: Int) throws {
        guard (result == .bytes) == (appended > 0) else {
            throw BlobError(.misbehavingPlugin, "A read returned '\(result)' but appended \(appended) bytes (C1).")
        }
        guard result != .notYet else { return }
        if try !self.updateDeclaredContent() {
            // Bytes or the end without facts: no more facts will become known.
            try self.declare(try self.stream.info ?? BlobInfo())
        }
        try self.advance(by: appended)
        guard result == .end else { return }
        try self.declaredContent.checkEnd(at: self.streamOffset)
        self.phase = .ended
    }

    private func advance(by byteCount: Int) throws(BlobError) {
        let (offset, overflows) = self.streamOffset.addingReportingOverflow(Int64(byteCount))
        guard !overflows else { throw BlobError.offsetOverflowError }
        try self.declaredContent.checkBytes(upTo: offset)
        self.streamOffset = offset
        if offset >= self.reportOffset { self.reportProgress() }
    }

    /// Delivers the bytes that were taken, and further bytes in memory.
    private func deliverHeld(to output: inout OutputRawSpan) {
        while var bytes = self.heldBytes.take(), output.freeCapacity > 0 {
            let before = output.byteCount
            bytes.move(to: &output)
            bytes.didDeliver(output.byteCount - before)
            guard bytes.isEmpty else { return self.heldBytes = bytes }
            guard case .reading = self.phase, output.freeCapacity > 0 else { return }
            do {
                self.heldBytes = try self.stream.readBytes(at: self.streamOffset, atMost: .max)
                try self.advance(by: self.heldBytes?.count ?? 0)
            } catch {
                (self.heldBytes, self.pendingError) = (nil, error)
            }
        }
    }

    private func takeHeld(_ byteCount: Int) -> BlobBytes? {
        let first = self.heldBytes?.removeFirst(atMost: byteCount)
        first?.didDeliver(first?.count ?? 0)
        if self.heldBytes?.isEmpty == true { self.heldBytes = nil }
        return first
    }

    /// Reads once more after all declared bytes: the plugin performs its checks at the end, and no more bytes may
    /// follow.
    private func confirmEnd() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try self.stream.read(at: self.streamOffset, into: &output)
            try self.check(result, output.finalize(for: buffer))
            return result
        }
    }

    func fail(_ error: any Error) -> BlobError {
        if case .failed(let error) = self.phase { return error }
        let error = self.inContext(error, self.declaredContent.isKnown ? "read" : "open")
        self.phase = .failed(error)
        self.endActivity(error)
        return error
    }

    /// Continues an activity, and ends the current one.
    private func observe(_ activity: BlobActivity) {
        self.endActivity()
        self.activity = activity
        self.reportProgress()
    }

    private func reportProgress() {
        guard let activity else { return }
        activity.advance(read: self.streamOffset - activity.byteOffset)
        let (offset, overflows) = self.streamOffset.addingReportingOverflow(BlobActivity.progressByteCount)
        self.reportOffset = overflows ? .max : offset
    }

    private func endActivity(_ error: BlobError? = nil) {
        self.reportProgress()
        self.activity.take()?.end(error)
    }

    private func inContext(_ error: any Error, _ operation: String) -> BlobError {
        var error = BlobError(wrapping: error)
        // The limits of the context end a read of all layers, and a single reader checks them.
        if error.layers.isEmpty, let base = (self.stream as? any StreamOverReader)?.reader, base.defersChecks,
            error.code == .timedOut || error.code == .cancelled
        {
            error = base.inContext(error, operation)
        }
        // A layer that stands for its base in errors is not listed among the layers that an error passes.
        if self.stream is ReadAheadStream, !error.layers.isEmpty { return error }
        return error.passing(self.source, operation: operation, byteOffset: self.byteOffset)
    }
}

extension BlobError {
    /// Returns this error with the context of a source; unchanged if the source is nil.
    fileprivate func passing(
        _ source: (any BlobInputStreamDataSource)?, operation: String, byteOffset: Int64
    ) -> BlobError {
        guard let source else { return self }
        return self.passing(
            layer: source.layerName, operation: operation, locator: source.locator?.description, byteOffset: byteOffset)
    }
}
