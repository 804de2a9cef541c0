import Foundation

/// A reader that holds its plugin to the contract and gives its errors their context.
///
/// The innermost layer, always on. Checks C1, C2, C3, C5, C7, C8 and C14 of the contracts; looks at the context before
/// each read. Adds a few comparisons and no copy to a read.
public final class BlobGuardedReader: BlobReader {
    private enum Phase {
        case reading, ended, closed
        case failed(BlobError)
    }

    private let inner: any BlobReader
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private let waits: Bool
    private let validator: BlobValidator?
    private var phase = Phase.reading
    private var openingIsChecked = false
    private var byteCount: Int64?  // As declared, once the opening is checked.

    /// The offset of the next byte, from the start of the blob.
    public private(set) var byteOffset: Int64

    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, matching validator: BlobValidator?,
        context: BlobContext, waits: Bool
    ) throws(BlobError) {
        self.source = source
        self.validator = validator
        self.context = context
        self.waits = waits
        self.byteOffset = byteOffset
        do {
            try context.check()
            try BlobInfo().check(byteOffset: byteOffset, matching: nil)
            self.inner = try source.openReader(at: byteOffset, matching: validator, context: context)
        } catch {
            throw BlobError(wrapping: error).passing(
                layer: source.layerName, operation: .open, locator: source.locator?.description, byteOffset: byteOffset)
        }
        do {
            try self.checkOpening()
        } catch {
            self.inner.close()
            throw self.inContext(error, .open)
        }
    }

    deinit {
        if case .closed = self.phase { return }
        self.inner.close()
    }

    /// Passed on from the plugin.
    public var info: BlobInfo { self.inner.info }

    /// True once a read met the end and every check of the end passed.
    ///
    /// Whoever reads an event-driven plugin asks this and not the plugin's state: that may already have changed since
    /// the read, to an end that nobody has checked or to an error that nobody has thrown.
    public var hasEnded: Bool {
        if case .ended = self.phase { true } else { false }
    }

    /// Passed on from the plugin, unless this reader was made to wait for it.
    public var readiness: BlobObservable<BlobReaderState>? { self.waits ? nil : self.inner.readiness }

    /// Passed on from the plugin.
    public func property(forKey key: Stream.PropertyKey) -> Any? { self.inner.property(forKey: key) }

    /// Passed on to the plugin.
    public func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.inner.setProperty(value, forKey: key)
    }

    /// Reads the next bytes; see ``BlobReader/read(into:)-(OutputRawSpan)``. An empty output reads nothing.
    public func read(into output: inout OutputRawSpan) throws {
        switch self.phase {
        case .ended: return
        case .failed(let error): throw error
        case .closed: throw self.inContext(BlobError(.closed, "The reader is closed."), .read)
        case .reading: break
        }
        guard output.freeCapacity > 0 else { return }
        do {
            try self.context.check()
            try self.readChecked(into: &output)
        } catch {
            let error = self.inContext(error, .read)
            self.phase = .failed(error)
            throw error
        }
    }

    /// Passes over bytes without reading them, if the plugin can.
    ///
    /// - Parameter byteCount: Clamped to what is left of a known byte count.
    /// - Returns: False when the plugin cannot: then nothing was passed over.
    package func skip(_ byteCount: Int64) throws -> Bool {
        guard case .reading = self.phase, self.openingIsChecked, let inner = self.inner as? any BlobSkippingReader,
            let end = self.byteCount
        else { return false }
        let count = min(byteCount, end - self.byteOffset)
        inner.skip(count)
        self.byteOffset += count
        return true
    }

    /// Frees what the reader holds; later reads throw ``BlobError/Code/closed``. Twice is fine.
    public func close() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.inner.close()
    }

    /// Waits until an event-driven plugin is open.
    ///
    /// - Throws: Why it is not.
    package func finishOpening() throws {
        do {
            guard let readiness = self.inner.readiness else { return }
            try readiness.wait(self.context) { $0.isOpenOrFailed ? () : nil }
            if let error = readiness.value.error, !readiness.value.hasBytesAvailable { throw error }
            if !self.openingIsChecked { try self.checkOpening() }
        } catch {
            throw self.inContext(error, .open)
        }
    }

    private func readChecked(into output: inout OutputRawSpan) throws {
        while !self.openingIsChecked {
            guard try self.awaitOpening() else { return }
        }
        while true {
            let version = self.inner.readiness?.versioned.version
            let room = self.byteCount.map { Int(clamping: $0 - self.byteOffset) } ?? .max
            guard room > 0 else {
                if try self.confirmEnd() { return }
                if try !self.awaitReadiness(after: version) { return }
                continue
            }
            let appended = try output.append(atMost: room) { try self.inner.read(into: &$0) }
            let (offset, overflows) = self.byteOffset.addingReportingOverflow(Int64(appended))
            guard !overflows else {
                output.removeLast(appended)
                throw BlobError.pastLargestOffset
            }
            self.byteOffset = offset
            if appended > 0 { return }
            if try self.noteEnd() { return }
            if try !self.awaitReadiness(after: version) { return }
        }
    }

    /// All declared bytes were delivered: lets the plugin check what it checks at its end, and sees that no more comes.
    private func confirmEnd() throws -> Bool {
        let surplus = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { try self.inner.read(into: $0) }
        guard surplus == 0 else {
            throw BlobError(.misbehavingPlugin, "More bytes came than the \(self.byteOffset) that were declared (C8).")
        }
        return try self.noteEnd()
    }

    /// Decides whether a read that appended nothing was the last.
    private func noteEnd() throws -> Bool {
        if let state = self.inner.readiness?.value {
            if let error = state.error { throw error }
            guard state.isAtEnd else { return false }
        }
        if let byteCount, self.byteOffset != byteCount {
            throw BlobError(
                .misbehavingPlugin,
                "The end came after \(self.byteOffset) of \(byteCount) declared bytes, without an error (C8).")
        }
        self.phase = .ended
        return true
    }

    /// Waits until the plugin says that a read is worth it; false when this reader does not wait.
    private func awaitReadiness(after version: UInt64?) throws -> Bool {
        guard let readiness = self.inner.readiness else { return false }
        let now = readiness.versioned
        if now.state.hasBytesAvailable, now.version == version {
            throw BlobError(.misbehavingPlugin, "Bytes were said to be available, and a read appended none (C1).")
        }
        guard self.waits else { return now.state.isReady }
        try readiness.wait(self.context) { $0.isReady ? () : nil }
        return true
    }

    /// Waits until an event-driven plugin is open; false when it is not and this reader does not wait.
    private func awaitOpening() throws -> Bool {
        if let readiness = self.inner.readiness {
            guard self.waits || readiness.value.isOpenOrFailed else { return false }
            try readiness.wait(self.context) { $0.isOpenOrFailed ? () : nil }
            if let error = readiness.value.error { throw error }
        }
        try self.checkOpening()
        return true
    }

    private func checkOpening() throws {
        // An event-driven plugin may know its info only later, or have failed: the first read comes back here.
        if let state = self.inner.readiness?.value, !state.isOpenOrFailed || state.error != nil { return }
        self.openingIsChecked = true
        let info = self.info
        if let byteCount = info.byteCount, byteCount < 0 {
            throw BlobError(.misbehavingPlugin, "A byte count of \(byteCount) was declared (C8).")
        }
        try info.check(byteOffset: self.byteOffset, matching: self.validator)
        self.byteCount = info.byteCount
    }

    private func inContext(_ error: any Error, _ operation: BlobError.Operation) -> BlobError {
        BlobError(wrapping: error).passing(
            layer: self.source.layerName, operation: operation, locator: self.source.locator?.description,
            byteOffset: self.byteOffset)
    }
}

/// A reader that can pass over bytes at no cost.
package protocol BlobSkippingReader: BlobReader {
    /// Goes on behind the next bytes.
    ///
    /// - Parameter byteCount: 0 to what is left of the byte count.
    func skip(_ byteCount: Int64)
}
