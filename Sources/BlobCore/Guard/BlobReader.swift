/// A reader that enforces the contract on its plugin and adds the context to its errors.
///
/// The innermost layer, always present. Checks C1, C2, C3, C5, C7, C8 and C14 of the contracts, and checks the context
/// before each read. Adds a few comparisons and no copy to a read.
public final class BlobReader: BlobLendingReader {
    private enum Phase {
        case reading, ended, closed
        case failed(BlobError)
    }

    package private(set) var inner: any BlobPluginReader
    // Cast once: casting an object to a protocol takes longer than a call of it.
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
                layer: source.layerName, operation: "open", locator: source.locator?.description, byteOffset: byteOffset
            )
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

    /// The info of the plugin's reader.
    public var info: BlobInfo { self.inner.info }

    /// True when the plugin's reader is open, and once bytes or the end were read.
    public var isOpen: Bool { self.declared.isKnown || self.inner.isOpen }

    /// True when the source never blocks, or when this reader of it never does.
    public var neverBlocks: Bool { self.inner.neverBlocks || self.source.traits.contains(.neverBlocks) }

    /// The offset of the next byte, from the start of the blob.
    public var byteOffset: Int64 { self.readOffset + self.skipped.rest }

    /// True once a read reached the end and every check at the end passed.
    package var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    // MARK: Reading

    /// Reads the next bytes; see ``BlobPluginReader/read(into:)``. For an output without room, reads nothing and returns
    /// `bytes`.
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
            guard result == .notYet else {
                self.wait.end()
                return result
            }
            try self.wait.begin(self.context)
            // The read may have closed the reader that was about to call the waker: of a part that ended, or of an
            // attempt that failed.
            if let pending = self.wait.pending { self.inner.whenReadable(pending) }
            return .notYet
        } catch {
            throw self.fail(error)
        }
    }

    /// Registers a waker that is called once when a read is worth trying again, and also when the job is cancelled or
    /// its time is up; see ``BlobPluginReader/whenReadable(_:)``.
    public func whenReadable(_ waker: BlobWaker) {
        guard case .reading = self.phase else {
            if case .closed = self.phase { return }
            return waker.wake()
        }
        self.inner.whenReadable(self.wait.relay(to: waker, self.context))
    }

    /// Skips bytes, which the next read drops.
    ///
    /// - Parameter byteCount: The number of bytes to skip, from 0. The next read throws
    ///   ``BlobError/Code/invalidArgument`` when the new offset is past the end.
    package func skip(_ byteCount: Int64) {
        precondition(byteCount >= 0, "A number of bytes to skip is not negative.")
        guard case .reading = self.phase else { return }
        self.skipped.rest += byteCount
    }

    /// Lends the next bytes without consuming them, when the plugin has them in memory; see ``BlobLendingReader``.
    ///
    /// - Returns: The bytes; nil when there are none in memory, and when the next read will throw.
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

    /// Consumes bytes from the front of those that were lent last.
    package func consume(_ byteCount: Int) {
        self.readOffset += Int64(byteCount)
        self.wait.end()
        self.lending?.consume(byteCount)
    }

    /// Frees the resources of the reader; later reads throw ``BlobError/Code/closed``. May be called twice.
    public func close() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.wait.close()
        self.inner.close()
    }

    /// Hands over the plugin's reader without closing it, and closes this one.
    func takeInner() -> any BlobPluginReader {
        self.phase = .closed
        self.wait.close()
        return self.inner
    }

    /// True when all declared bytes were read and only the check of the end is left.
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
                // Limits the plugin to the bytes that it declared, and hides bytes that are already in the output.
                try output.append(atMost: max(room, 1)) { result = try self.inner.read(into: &$0) }
            }
            // The reader was replaced meanwhile, and a waker may only be given to a reader that returned `notYet`
            // itself.
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

    /// Checks that the result of a read, the bytes that it appended and the declared content agree.
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

    /// Reads once more after all declared bytes: the plugin makes the checks at its end, and no more bytes may come.
    private func confirmEnd() throws -> BlobReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try self.inner.read(into: &output)
            try self.check(result, output.finalize(for: buffer))
            return result
        }
    }

    /// Replaces a reader that reads ahead with its inner reader, if that turned out never to block.
    ///
    /// - Returns: True when the reader was replaced.
    @discardableResult
    private func takeDirect() -> Bool {
        guard let direct = (self.inner as? ReadAheadReader)?.takeDirect() else { return false }
        self.inner = (direct as? BlobReader)?.takeInner() ?? direct
        self.lending = self.inner as? any BlobLendingReader
        return true
    }

    func fail(_ error: any Error) -> BlobError {
        let error = self.inContext(error, self.isOpen ? "read" : "open")
        self.phase = .failed(error)
        return error
    }

    private func inContext(_ error: any Error, _ operation: String) -> BlobError {
        let error = BlobError(wrapping: error)
        // A layer that stands for its base in errors does not appear among the layers that an error passes.
        if self.inner is ReadAheadReader, !error.layers.isEmpty { return error }
        return error.passing(
            layer: self.source.layerName, operation: operation, locator: self.source.locator?.description,
            byteOffset: self.byteOffset)
    }
}
