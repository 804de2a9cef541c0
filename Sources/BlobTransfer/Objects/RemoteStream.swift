import BlobCore

/// A stream of the bytes of an object, which requests one window first and the whole rest when reading continues.
///
/// A reader from the start of an object probably reads all of it. A reader from an offset probably reads only a part,
/// so the stream requests two windows before the rest.
final class RemoteStream: BlobByteStream {
    /// The maximum number of consecutive responses without the needed byte: one may contain only the facts, one may
    /// refuse a range, and other readers may take over others.
    private static let maximumFruitlessCount = 8

    private let version: RemoteVersion
    private let validator: BlobValidator?
    private let startOffset: Int64
    private let context: BlobContext
    private let onClose: @Sendable () -> Void
    private var byteOffset: Int64
    /// The end of the ranges requested ahead for this stream.
    private var plannedEnd: Int64 = 0
    private var body: RemoteBody?
    private var isOwner = false
    private var progress = RemoteVersion.Progress.beginning
    /// The offset at which the current response was first needed.
    private var bodyOffset: Int64 = 0
    private var fruitlessCount = 0
    private let slot = BlobWakerSlot()
    /// True once the offset and the validator have been compared with the facts.
    private var isChecked = false
    private var isAtEnd = false
    private let coverages: DigestCoverages
    private var coverage: DigestCoverage?
    /// The checks against digests of the object or of its parts, and against digests of responses that were cut off.
    private var checks: [StatedDigestCheck] = []
    /// The offset up to which digests of the object or of responses have verified all bytes from the start, and the
    /// last of these digests.
    private var provenPart: (end: Int64, by: String?) = (0, nil)
    private var hasReported = false

    /// - Throws: ``BlobError/Code/invalidArgument`` or ``BlobError/Code/changed`` if the facts are already known, and
    ///   the offset or the validator does not match them.
    init(
        _ version: RemoteVersion, _ opening: BlobOpening, _ coverages: DigestCoverages,
        onClose: @escaping @Sendable () -> Void
    ) throws(BlobError) {
        (self.version, self.validator, self.onClose) = (version, opening.validator, onClose)
        (self.context, self.coverages) = (opening.context, coverages)
        (self.startOffset, self.byteOffset) = (opening.byteOffset, opening.byteOffset)
        if opening.context.readsPartsInParallel {
            (self.progress, self.plannedEnd) = (.readingPart, self.startOffset + 1)
        }
        try self.check()
    }

    /// The facts, once a response states them. Requests the bytes at the offset, because that response also states the
    /// facts.
    var info: BlobInfo? {
        get throws {
            while self.version.info == nil {
                guard let body = self.body else {
                    guard self.attach(atLeast: 0) != nil else { break }
                    // Opening makes the request, and leaves even an available response to the first read.
                    self.slot.fire()
                    return nil
                }
                if try body.isAwaited() { return nil }
                // The range was refused; the next response will state the facts.
                if self.version.info == nil { try self.leaveFruitless() }
            }
            return self.version.info
        }
    }

    var neverBlocks: Bool { true }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.advance(&output)
    }

    func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        guard self.isChecked, let body else { return nil }
        var bytes = body.readBytes(at: self.byteOffset, isOwner: self.isOwner)
        let first = bytes?.removeFirst(atMost: byteCount)
        try first?.withUnsafeBytes { try self.pass($0) }
        return first
    }

    /// Checks bytes that are about to be delivered, and moves past them.
    private func pass(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        let proof = try self.comparing { () throws(BlobError) in
            try self.coverage?.pass(bytes, at: self.byteOffset, &self.checks, &self.provenPart)
        }
        self.byteOffset += Int64(bytes.count)
        if let proof, let byteCount = self.version.byteCount { self.report(byteCount, proof) }
    }

    /// Calls `compare`, and discards the version if a digest does not match.
    private func comparing<Proof>(_ compare: () throws(BlobError) -> Proof) throws(BlobError) -> Proof {
        do throws(BlobError) {
            return try compare()
        } catch {
            self.version.forget()
            throw error
        }
    }

    private func report(_ byteCount: Int64, _ proof: String?) {
        self.hasReported = true
        self.context.reportEnd(of: self.version.scheme, byteCount: byteCount, check: proof)
    }

    func close() {
        let hasFailed = self.body?.failedEndOffset != nil
        let cut = self.isOwner ? self.body?.cutCheck : nil
        for check in self.checks + [cut].compactMap(\.self) where check.reachedOffset == self.byteOffset {
            self.coverage?.keep(check)
        }
        self.detach()
        // After a failure, another reader may continue.
        if self.plannedEnd > self.byteOffset, !hasFailed { self.version.cancel(self.byteOffset..<self.plannedEnd) }
        self.onClose()
    }

    private func check() throws(BlobError) {
        guard !self.isChecked, let facts = self.version.facts else { return }
        try facts.info.check(byteOffset: self.startOffset, matching: self.validator)
        self.isChecked = true
        // The reader of the parts compares the digest of the whole.
        guard self.progress != .readingPart else { return }
        let coverage = self.coverages.coverage(of: facts, in: self.context)
        (self.coverage, self.checks) = (coverage, coverage.begin(at: self.startOffset))
    }

    private func advance(_ output: inout OutputRawSpan) throws(BlobError) -> BlobReadResult {
        while !self.isAtEnd, let body = self.attach(atLeast: output.freeCapacity) {
            if try body.isAwaited() { return .notYet }
            try self.check()
            if self.isChecked, !self.isOwner, body.becomeStream(at: self.byteOffset) {
                self.isOwner = true
                self.version.release(body)
            }
            let start = output.byteCount
            // Without facts, the range was refused, and the next response will state them.
            switch self.isChecked
                ? try body.read(at: self.byteOffset, isOwner: self.isOwner, into: &output) : .outOfRange
            {
            case .bytes:
                try output.bytes.withUnsafeBytes { bytes throws(BlobError) in
                    try self.pass(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                }
                return .bytes
            case .notYet: return .notYet
            case .endOfObject(let end) where self.version.info?.byteCount == nil:
                try self.finish(at: end)
            case .end, .endOfObject, .outOfRange:
                try self.leaveFruitless()
            }
        }
        if !self.isAtEnd { try self.finish(at: self.version.byteCount ?? self.byteOffset) }
        return .end
    }

    /// Leaves a response that does not contain the needed byte.
    private func leaveFruitless() throws(BlobError) {
        self.fruitlessCount = self.byteOffset > self.bodyOffset ? 0 : self.fruitlessCount + 1
        guard self.fruitlessCount <= Self.maximumFruitlessCount else {
            throw BlobError(.corrupted, "The server answered with bytes that were not requested.")
        }
        self.detach()
    }

    private func finish(at end: Int64) throws(BlobError) {
        guard self.byteOffset <= end else {
            throw BlobError(.invalidArgument, "The offset \(self.startOffset) is past the end of \(end) bytes.")
        }
        self.isAtEnd = true
        // This applies to an object without bytes or of unknown length.
        for var check in self.checks where check.end ?? end == end && check.reachedOffset == end {
            self.provenPart = (end, try self.comparing { () throws(BlobError) in try check.finish() })
        }
        guard !self.hasReported, self.progress != .readingPart else { return }
        let proof = self.provenPart.end == end ? self.provenPart.by : nil
        if self.startOffset == 0 || proof != nil { self.report(end, proof) }
    }

    /// Returns the response that contains the next bytes; nil at the end of the object.
    private func attach(atLeast byteCount: Int) -> RemoteBody? {
        if let body { return body }
        let found = self.version.body(
            at: self.byteOffset, atLeast: byteCount, self.progress, planned: &self.plannedEnd,
            for: RequestJob(self.context))
        guard let found else { return nil }
        if !found.isNew { self.context.activity?.report(BlobEvent(.cacheUsed, self.byteOffset)) }
        found.body.join(self.slot)
        (self.body, self.isOwner, self.bodyOffset) = (found.body, found.isOwner, self.byteOffset)
        return found.body
    }

    private func detach() {
        guard let body = self.body.take() else { return }
        if let proof = body.proof, self.bodyOffset <= self.provenPart.end { self.provenPart = (self.byteOffset, proof) }
        if self.byteOffset > self.bodyOffset, self.progress != .readingPart {
            self.progress = self.progress == .beginning && self.startOffset > 0 ? .continued : .reading
        }
        body.leave(self.slot, isOwner: self.isOwner)
        if self.byteOffset > self.bodyOffset { self.version.didRead(body, from: self.bodyOffset) }
        self.isOwner = false
    }
}
