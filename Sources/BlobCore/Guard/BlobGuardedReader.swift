/// A reader that holds its plugin to the contract and gives its errors their context.
///
/// The innermost layer, always on. Checks C1, C2, C3, C5, C7, C8 and C14 of the contracts; looks at the context before
/// each read. Adds a few comparisons and no copy to a read.
public final class BlobGuardedReader: BlobLendingReader {
    private enum Phase {
        case reading, ended, closed
        case failed(BlobError)
    }

    package private(set) var inner: any BlobReader
    // Looked up once: to ask whether an object has a protocol takes longer than a call of it.
    package private(set) var lending: (any BlobLendingReader)?
    private let source: any BlobInputStreamDataSource
    let context: BlobContext
    private var phase = Phase.reading
    private var declared: DeclaredContent
    private var skipped = BytesToSkip(0)
    package var wait = ReaderWait()

    /// The offset of the next byte that the plugin reads, from the start of the blob.
    private var readOffset: Int64

    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, matching validator: BlobValidator?,
        context: BlobContext
    ) throws(BlobError) {
        self.source = source
        self.declared = DeclaredContent(matching: validator)
        self.context = context
        self.readOffset = byteOffset
        do {
            try context.check()
            try BlobInfo().check(byteOffset: byteOffset, matching: nil)
            self.inner = try source.makeReader(at: byteOffset, matching: validator, context: context)
        } catch {
            throw BlobError(wrapping: error).passing(
                layer: source.layerName, operation: "open", locator: source.locator?.description, byteOffset: byteOffset)
        }
        self.lending = self.inner as? any BlobLendingReader
        self.takeDirect()
        guard self.inner.isOpen else { return }
        do {
            try self.declared.check(self.inner.info, at: byteOffset)
        } catch {
            self.inner.close()
            throw self.inContext(error, "open")
        }
    }

    deinit { self.close() }

    /// Passed on from the plugin.
    public var info: BlobInfo { self.inner.info }

    /// Passed on from the plugin; true as well once bytes or the end came.
    public var isOpen: Bool { self.declared.isKnown || self.inner.isOpen }

    /// True when the source never blocks, or this reader of it does not.
    public var neverBlocks: Bool { self.inner.neverBlocks || self.source.traits.contains(.neverBlocks) }

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 { self.readOffset + self.skipped.rest }

    /// True once a read met the end and every check of the end passed.
    package var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    // MARK: Reading

    /// Reads the next bytes; see ``BlobReader/read(into:)``. An output without room reads nothing, and says `bytes`.
    public func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch self.phase {
        case .ended: return .end
        case .failed(let error): throw error
        case .closed: throw self.inContext(BlobError(.closed, "The reader is closed."), "read")
        case .reading: break
        }
        guard output.freeCapacity > 0 else { return .bytes }
        do {
            try self.context.check()
            let result = try self.skipAndRead(into: &output)
            if result == .notYet { try self.wait.begin(self.context) } else { self.wait.end() }
            return result
        } catch {
            throw self.fail(error)
        }
    }

    /// Has `waker` called once when a read is worth trying again, which is also when the job is cancelled or its time is
    /// up; see ``BlobReader/whenReadable(_:)``.
    public func whenReadable(_ waker: BlobWaker) {
        guard case .reading = self.phase else {
            if case .closed = self.phase { return }
            return waker.wake()
        }
        self.inner.whenReadable(self.wait.relay(to: waker, self.context))
    }

    /// Passes over bytes: they are dropped by the next read, or at no cost by readers that can.
    ///
    /// - Parameter byteCount: From 0. The next read throws ``BlobError/Code/invalidArgument`` when that is past the end.
    public func skip(_ byteCount: Int64) {
        precondition(byteCount >= 0, "Bytes are passed over forward.")
        guard case .reading = self.phase else { return }
        self.skipped.rest += byteCount
    }

    /// Lends the next bytes without taking them, when the plugin has them in memory; see ``BlobLendingReader``.
    ///
    /// - Returns: Nil when it has none, and when the next read will throw.
    package func lend() -> BlobLentBytes? {
        if !self.declared.isKnown { self.takeDirect() }
        guard case .reading = self.phase, let lending, self.skipped.rest == 0, (try? self.context.check()) != nil,
            let lent = lending.lend()
        else { return nil }
        guard self.declared.isKnown || (try? self.declared.check(self.inner.info, at: self.readOffset)) != nil else {
            return nil
        }
        guard let byteCount = self.declared.byteCount else { return lent }
        return self.readOffset < byteCount ? lent.prefix(byteCount - self.readOffset) : nil
    }

    /// Takes bytes from the front of those that were lent last.
    package func consume(_ byteCount: Int) {
        self.readOffset += Int64(byteCount)
        self.wait.end()
        self.lending?.consume(byteCount)
    }

    /// Frees what the reader holds; later reads throw ``BlobError/Code/closed``. Twice is fine.
    public func close() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.wait.close()
        self.inner.close()
    }

    /// Gives the plugin's reader away, as it is; this one is closed.
    func takeInner() -> any BlobReader {
        self.phase = .closed
        self.wait.close()
        return self.inner
    }

    /// True when all bytes that were declared are read: what is left is to check the end.
    package var isAtDeclaredEnd: Bool { self.declared.isKnown && self.readOffset == self.declared.byteCount }

    private func skipAndRead(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if self.skipped.rest > 0 {
            let offset = self.byteOffset
            var skipped = self.skipped
            defer { self.skipped = skipped }
            let result = try skipped.drop(using: &output, before: offset) { try self.readChecked(into: &$0) }
            if let result { return result }
        }
        return try self.readChecked(into: &output)
    }

    private func readChecked(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if !self.declared.isKnown { self.takeDirect() }
        let byteCount = self.declared.isKnown ? self.declared.byteCount : self.inner.info.byteCount
        let room = byteCount.map { Int(clamping: $0 - self.readOffset) } ?? .max
        guard room > 0 || !self.declared.isKnown else { return try self.confirmEnd() }
        let before = output.byteCount
        do {
            var result = BlobReadResult.end
            if before == 0, room >= output.freeCapacity {
                result = try self.inner.read(into: &output)
            } else {
                // So that the plugin sees no more room than it has bytes, and nothing of what others read before.
                try output.append(atMost: max(room, 1)) { result = try self.inner.read(into: &$0) }
            }
            // It was opened meanwhile: a waker is for a reader that said so itself.
            if result == .notYet, !self.declared.isKnown, self.takeDirect() {
                return try self.readChecked(into: &output)
            }
            try self.check(result, output.byteCount - before)
            self.readOffset += Int64(output.byteCount - before)
            return result
        } catch {
            output.removeLast(output.byteCount - before)
            throw error
        }
    }

    /// Sees that the result of a read and what it appended agree with each other and with what was declared.
    private func check(_ result: BlobReadResult, _ appended: Int) throws {
        guard (result == .bytes) == (appended > 0) else {
            throw BlobError(.misbehavingPlugin, "A read says '\(result)' and appended \(appended) bytes (C1).")
        }
        guard result != .notYet || self.inner.isOpen else { return }
        if !self.declared.isKnown { try self.declared.check(self.inner.info, at: self.readOffset) }
        let (offset, overflows) = self.readOffset.addingReportingOverflow(Int64(appended))
        guard !overflows else { throw BlobError.pastLargestOffset }
        guard result == .end else { return try self.declared.checkBytes(upTo: offset) }
        try self.declared.checkEnd(at: offset)
        self.phase = .ended
    }

    /// All declared bytes were delivered: lets the plugin check what it checks at its end, and sees that no more comes.
    private func confirmEnd() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try self.inner.read(into: &output)
            try self.check(result, output.finalize(for: buffer))
            return result
        }
    }

    /// A reader that turned out never to block is read in place of the one that would read it ahead.
    ///
    /// - Returns: Whether it is, from now on.
    @discardableResult
    private func takeDirect() -> Bool {
        guard let direct = (self.inner as? ReadAheadReader)?.takeDirect() else { return false }
        self.inner = direct
        self.lending = direct as? any BlobLendingReader
        return true
    }

    func fail(_ error: any Error) -> BlobError {
        let error = self.inContext(error, "read")
        self.phase = .failed(error)
        return error
    }

    private func inContext(_ error: any Error, _ operation: String) -> BlobError {
        let error = BlobError(wrapping: error)
        // A layer that stands for its base in everything is none that an error passes.
        if self.inner is ReadAheadReader, !error.layers.isEmpty { return error }
        return error.passing(
            layer: self.source.layerName, operation: operation, locator: self.source.locator?.description,
            byteOffset: self.byteOffset)
    }
}
