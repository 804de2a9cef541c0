/// A stream that survives transient errors of its base.
final class RetryStream: BlobByteStream {
    private enum Phase {
        case reading(BlobReader)
        /// The base is read again from an offset before the byte reached; the bytes must equal the delivered ones.
        case comparing(BlobReader, DeliveredBytes.Proof)
        case waiting(TimerWait)
        case failed(BlobError)
    }

    /// The number of bytes that are compared per read of the base.
    private static let comparedByteCount = 64 * 1024

    private let base: any BlobInputStreamDataSource
    private let rules: BlobRetry
    private let context: BlobContext
    private let requiredValidator: BlobValidator?
    private let startOffset: Int64
    private var byteOffset: Int64
    private var phase: Phase
    private var failures: RetryFailures
    private var isResumed = false
    /// The facts that were declared to the owner of this reader.
    private var declaredInfo: BlobInfo?
    private var delivered = DeliveredBytes()

    init(
        _ base: any BlobInputStreamDataSource, _ opening: BlobOpening, _ rules: BlobRetry
    ) {
        (self.base, self.rules, self.context, self.requiredValidator) = (
            base, rules, opening.context, opening.validator
        )
        (self.startOffset, self.byteOffset) = (opening.byteOffset, opening.byteOffset)
        self.failures = RetryFailures(rules)
        self.phase = .failed(BlobError(.internalError, "The reader has not been started."))
    }

    var info: BlobInfo? {
        get throws {
            while self.declaredInfo == nil {
                switch self.phase {
                case .failed(let error): throw error
                case .comparing: return nil
                case .waiting(let wait):
                    guard wait.isOver else { return nil }
                    self.attempt()
                case .reading(let reader):
                    do {
                        guard let info = try reader.knownInfo() else { return nil }
                        self.declaredInfo = info
                    } catch {
                        self.handleFailure(BlobError(wrapping: error))
                    }
                }
            }
            return self.declaredInfo
        }
    }

    // Does not depend on the first reader: if a source may block, a later reader of it may block.
    var neverBlocks: Bool { self.base.traits.contains(.neverBlocks) }

    /// Opens the base for the first time.
    ///
    /// - Throws: An error for which a retry cannot help.
    func start() throws {
        self.attempt()
        if case .failed(let error) = self.phase { throw error }
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        while true {
            switch self.phase {
            case .failed(let error): throw error
            case .waiting(let wait):
                guard wait.isOver else { return .notYet }
                self.attempt()
            case .comparing(let reader, let proof):
                do {
                    guard try self.compare(reader, proof) else { return .notYet }
                } catch {
                    self.handleFailure(BlobError(wrapping: error))
                }
            case .reading(let reader):
                do {
                    return try self.read(reader, into: &output)
                } catch {
                    self.handleFailure(BlobError(wrapping: error))
                }
            }
        }
    }

    var readiness: BlobWakerSlot? {
        switch self.phase {
        case .reading(let reader), .comparing(let reader, _): reader.readiness
        case .waiting(let wait): wait.slot
        case .failed: nil
        }
    }

    func close() { self.closeReader(for: BlobError(.closed, "The reader is closed.")) }

    private func closeReader(for error: BlobError) {
        switch self.phase {
        case .reading(let reader), .comparing(let reader, _): reader.close()
        case .waiting, .failed: break
        }
        self.phase = .failed(error)
    }

    // MARK: Attempts

    private func read(_ reader: BlobReader, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        let result = try reader.read(into: &output)
        let end = self.byteOffset + Int64(output.byteCount - start)
        if self.failures.count > 0 { try self.checkLength(reader, result, upTo: end) }
        if result != .notYet {
            self.declare(as: reader)
            self.failures.end()
            if self.isResumed {
                self.isResumed = false
                self.context.report(BlobEvent(.recovered, self.byteOffset))
            }
        }
        self.byteOffset = end
        output.bytes.withUnsafeBytes {
            self.delivered.append(UnsafeRawBufferPointer(rebasing: $0[start...]), self.compared)
        }
        return result
    }

    private func declare(as reader: BlobReader) {
        // An error occurs again in the next read, which handles it.
        if self.declaredInfo == nil { self.declaredInfo = try? reader.knownInfo() }
    }

    /// The delivered bytes that are compared when reading is resumed.
    private var compared: DeliveredBytes.Extent {
        guard self.rules.resumesReading, self.rules.identity != .unchecked else { return .none }
        guard self.declaredInfo?.isRandomAccess ?? true else { return .all }
        return self.rules.identity == .compared && self.declaredInfo?.validator?.isStrong != true ? .last : .none
    }

    /// Opens the base at the offset from which reading resumes.
    private func attempt() {
        let proof = self.delivered.proof(self.compared)
        do throws(BlobError) {
            let validator =
                self.rules.identity == .unchecked
                ? self.requiredValidator : self.declaredInfo?.validator ?? self.requiredValidator
            let reader = try self.base.open(
                at: self.byteOffset - proof.byteCount, matching: validator, context: self.context)
            self.phase = proof.byteCount == 0 ? .reading(reader) : .comparing(reader, proof)
        } catch {
            self.handleFailure(error)
        }
    }

    /// Throws if the length of the content differs from its length before the interruption.
    private func checkLength(
        _ reader: BlobReader, _ result: BlobReadResult, upTo end: Int64
    ) throws(BlobError) {
        guard let byteCount = self.declaredInfo?.byteCount, result != .notYet else { return }
        let isSame = reader.info.byteCount.map { $0 == byteCount } ?? (result == .bytes || end == byteCount)
        guard isSame, end <= byteCount else { throw self.changedError }
    }

    /// Compares delivered bytes with the bytes of the base; returns false if none are available yet.
    private func compare(_ reader: BlobReader, _ proof: DeliveredBytes.Proof) throws -> Bool {
        var proof = proof
        let count = min(Self.comparedByteCount, Int(clamping: proof.byteCount))
        let result = try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let result = try reader.read(into: &output)
            proof.append(UnsafeRawBufferPointer(rebasing: buffer[..<output.finalize(for: buffer)]))
            return result
        }
        if result == .notYet { return false }
        guard result == .bytes, proof.isConfirmed else { throw self.changedError }
        self.phase = proof.byteCount == 0 ? .reading(reader) : .comparing(reader, proof)
        return true
    }

    private var changedError: BlobError {
        BlobError(
            .changed, "The content has changed since the interruption.",
            byteOffset: self.byteOffset)
    }

    /// Ends a failed attempt, and begins to wait for the next one, or ends reading.
    private func handleFailure(_ error: BlobError) {
        do throws(BlobError) {
            try self.context.check()
            // If the content ends before the byte reached, it has become shorter.
            guard error.code != .invalidArgument || self.byteOffset == self.startOffset else { throw self.changedError }
            guard self.canResume else { throw error }
            let attempt = try self.failures.attempt(after: error, self.context)
            self.closeReader(for: error)
            self.phase = .waiting(TimerWait(attempt.delay, self.context))
            self.isResumed = true
            self.context.report(BlobEvent(attempt, at: self.byteOffset))
        } catch {
            if error.code == .changed { self.context.report(BlobEvent(.invalidated, self.byteOffset)) }
            self.closeReader(for: error)
        }
    }

    /// True if the identity of the content can be checked, or need not be.
    private var canResume: Bool {
        guard self.byteOffset > self.startOffset else { return true }
        guard self.rules.resumesReading else { return false }
        return switch self.rules.identity {
        case .strong: self.declaredInfo?.validator?.isStrong ?? false
        case .compared: self.declaredInfo?.validator != nil
        case .unchecked: true
        }
    }
}
