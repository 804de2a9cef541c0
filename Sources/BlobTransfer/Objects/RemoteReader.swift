import BlobCore

/// A reader of an object: asks for a window first, and for all the rest when reading goes on.
///
/// A reader from the start of an object is likely to read all of it, one from an offset a part: it asks for two
/// windows.
final class RemoteReader: BlobLendingReader {
    /// The number of answers in a row that may be without the byte that is needed: one tells the facts, one refuses a
    /// range, others are taken by other readers.
    private static let maximumFruitlessCount = 8

    private let version: RemoteVersion
    private let validator: BlobValidator?
    private let startOffset: Int64
    private let idleLimit: Duration?
    private let onClose: @Sendable () -> Void
    private var byteOffset: Int64
    private var body: RemoteBody?
    private var isOwner = false
    private var progress = RemoteVersion.Progress.beginning
    /// The offset at which the current answer was needed.
    private var bodyOffset: Int64 = 0
    private var fruitlessCount = 0
    /// True once the offset and the validator were compared with the facts.
    private var isChecked = false
    private var hadHead = false
    private var isAtEnd = false
    private var failure: BlobError?

    /// - Throws: ``BlobError/Code/invalidArgument`` and ``BlobError/Code/changed``, if the facts are known already.
    init(
        _ version: RemoteVersion, at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext,
        onClose: @escaping @Sendable () -> Void
    ) throws(BlobError) {
        (self.version, self.validator, self.idleLimit, self.onClose) = (version, validator, context.idleLimit, onClose)
        (self.startOffset, self.byteOffset) = (byteOffset, byteOffset)
        try self.check()
    }

    deinit { self.close() }

    var info: BlobInfo { self.version.info ?? BlobInfo() }
    var isOpen: Bool { self.version.info != nil }
    var neverBlocks: Bool { true }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do throws(BlobError) {
            return try self.advance(&output)
        } catch {
            self.fail(error)
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) {
        guard self.failure?.code != .closed else { return }
        guard self.failure == nil, let body = self.attach(atLeast: 0) else { return waker.wake() }
        body.whenReadable(at: self.byteOffset, hadHead: self.hadHead, ObjectIdentifier(self), waker)
    }

    func lend() -> BlobLentBytes? {
        guard self.isChecked, let body, self.failure == nil else { return nil }
        return body.lend(at: self.byteOffset, isOwner: self.isOwner)
    }

    func consume(_ byteCount: Int) { self.byteOffset += Int64(byteCount) }

    func close() {
        guard self.failure?.code != .closed else { return }
        self.fail(BlobError(.closed, "The reader is closed."))
        self.onClose()
    }

    private func fail(_ error: BlobError) {
        self.failure = error
        self.detach()
    }

    private func check() throws(BlobError) {
        guard !self.isChecked, let info = self.version.info else { return }
        try info.check(byteOffset: self.startOffset, matching: self.validator)
        self.isChecked = true
    }

    private func advance(_ output: inout OutputRawSpan) throws(BlobError) -> BlobReadResult {
        while !self.isAtEnd, let body = self.attach(atLeast: output.freeCapacity) {
            self.hadHead = try !body.isAwaited()
            guard self.hadHead else { return .notYet }
            try self.check()
            if self.isChecked, !self.isOwner, body.becomeStream(at: self.byteOffset) {
                self.isOwner = true
                self.version.release(body)
            }
            let start = output.byteCount
            // Without facts the range was refused, and the next answer tells them.
            switch self.isChecked
                ? try body.read(at: self.byteOffset, isOwner: self.isOwner, into: &output) : .elsewhere
            {
            case .bytes:
                self.byteOffset += Int64(output.byteCount - start)
                return .bytes
            case .notYet: return .notYet
            case .endOfObject(let end) where self.info.byteCount == nil:
                try self.finish(at: end)
            case .end, .endOfObject, .elsewhere:
                self.fruitlessCount = self.byteOffset > self.bodyOffset ? 0 : self.fruitlessCount + 1
                guard self.fruitlessCount <= Self.maximumFruitlessCount else {
                    throw BlobError(.corrupted, "The server answers with other bytes than those asked for.")
                }
                self.detach()
            }
        }
        if !self.isAtEnd { try self.finish(at: self.version.byteCount ?? self.byteOffset) }
        return .end
    }

    private func finish(at end: Int64) throws(BlobError) {
        guard self.byteOffset <= end else {
            throw BlobError(.invalidArgument, "The offset \(self.startOffset) is past the end of \(end) bytes.")
        }
        self.isAtEnd = true
    }

    /// Returns the answer with the next bytes; nil at the end of the object.
    private func attach(atLeast byteCount: Int) -> RemoteBody? {
        if let body { return body }
        let found = self.version.body(
            at: self.byteOffset, atLeast: byteCount, self.progress, idleLimit: self.idleLimit)
        guard let found else { return nil }
        (self.body, self.isOwner, self.bodyOffset) = (found.body, found.isOwner, self.byteOffset)
        return found.body
    }

    private func detach() {
        guard let body = self.body.take() else { return }
        if self.byteOffset > self.bodyOffset {
            self.progress = self.progress == .beginning && self.startOffset > 0 ? .wentOn : .reading
        }
        body.leave(ObjectIdentifier(self), isOwner: self.isOwner)
        self.isOwner = false
    }
}
