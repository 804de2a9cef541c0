/// The stream of a transform.
final class TransformedStream: StreamOverReader {
    /// The maximum number of bytes that a step receives.
    private static let inputByteCount = 64 * 1024
    /// The minimum free space for the output of a step, in bytes.
    private static let outputByteCount = 4096

    private let base: BlobReader
    private let context: BlobContext
    private var transform: any BlobTransform
    private var knownInfo: BlobInfo?
    private var input = Input()
    /// Bytes that were produced while the output had too little free space.
    private var bufferedOutput: BlobBytes?
    private var isLast = false
    /// True if the transform may produce more bytes without more input.
    private var isFull = false
    private var isOver = false
    private var failure: BlobError?
    private let startOffset: Int64
    private var producedByteCount: Int64 = 0

    init(_ base: BlobReader, _ transform: any BlobTransform, _ context: BlobContext) {
        (self.base, self.transform, self.context) = (base, transform, context)
        self.startOffset = base.byteOffset
        base.deferChecks(to: context)
    }

    var info: BlobInfo? {
        get throws {
            if let knownInfo { return knownInfo }
            guard let info = try self.base.knownInfo() else { return nil }
            self.knownInfo = try self.transform.info(of: info)
            return self.knownInfo
        }
    }

    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        if var made = self.bufferedOutput.take() {
            made.move(to: &output)
            self.bufferedOutput = made.isEmpty ? nil : made
            return .bytes
        }
        if let failure { throw failure }
        if try self.info == nil { _ = try self.fill() }
        guard output.freeCapacity < Self.outputByteCount else { return try self.produce(into: &output) }
        let window = Window(Self.inputByteCount)
        let result = try window.fill { try self.produce(into: &$0) }
        guard result == .bytes else { return result }
        self.bufferedOutput = BlobBytes(window.bytes, ownedBy: window)
        return try self.read(at: byteOffset, into: &output)
    }

    func close() { self.base.close() }

    private func produce(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        defer { self.producedByteCount += Int64(output.byteCount - start) }
        do {
            let consumed = self.base.byteOffset - self.startOffset - Int64(self.input.count)
            try self.context.checkRatio(ofDecoded: self.producedByteCount, to: consumed)
            return try self.step(into: &output, from: start)
        } catch {
            let failure = BlobError(wrapping: error)
            // The bytes before the error are valid and are delivered first; the next read throws.
            guard output.byteCount > start else { throw failure }
            self.failure = failure
            return .bytes
        }
    }

    private func step(into output: inout OutputRawSpan, from start: Int) throws -> BlobReadResult {
        while !self.isOver {
            if self.input.isEmpty, !self.isLast, !self.isFull, try self.fill() == .notYet { return .notYet }
            let step = try self.input.consume { input in
                do {
                    return try self.transform.step(&input, isLast: self.isLast, into: &output)
                } catch {
                    throw self.addingLocation(to: error)
                }
            }
            self.isFull = step == .full
            switch step {
            case .end:
                guard self.isLast, self.input.isEmpty else { throw self.misbehaviourError("ended before its base") }
                self.isOver = true
            case .full: break
            case .needsInput where output.byteCount > start: break
            case .needsInput:
                guard !self.isLast else {
                    throw self.misbehaviourError("requested more input after the end of its base")
                }
                if try !self.input.isEmpty && self.fill() == .notYet { return .notYet }
                continue
            }
            if output.byteCount > start { return .bytes }
            guard self.isOver else { throw self.misbehaviourError("reported a full output but appended no bytes") }
        }
        return .end
    }

    /// Appends bytes of the base to the remaining ones.
    private func fill() throws -> BlobReadResult {
        guard self.input.count < Self.inputByteCount else {
            throw self.misbehaviourError("consumed no bytes of a full input")
        }
        let result = try self.input.fill(upTo: Self.inputByteCount, from: self.base)
        if result == .end { self.isLast = true }
        return result
    }

    /// Returns an error of the transform with the locator of the base, if its offset refers to the bytes of the base.
    private func addingLocation(to error: any Error) -> BlobError {
        // A transform does no I/O: an error without a code of its own is about the bytes.
        var error = BlobError(wrapping: error, otherwise: .corrupted)
        if error.byteOffset != nil { error.locator = error.locator ?? self.base.locator?.description }
        return error
    }

    private func misbehaviourError(_ fact: String) -> BlobError {
        BlobError(.misbehavingPlugin, "The transform \(fact).")
    }

    /// The bytes that the transform has not consumed.
    private struct Input {
        private var bytes: BlobBytes?
        private var window: Window?

        var count: Int { self.bytes?.count ?? self.window?.count ?? 0 }
        var isEmpty: Bool { self.count == 0 }

        mutating func consume(_ body: (inout RawSpan) throws -> BlobStep) throws -> BlobStep {
            if let bytes {
                var rest = 0
                defer { self.drop(bytes.count - rest) }
                return try bytes.withUnsafeBytes { buffer in
                    var span = RawSpan(_unsafeBytes: buffer)
                    defer { rest = span.byteCount }
                    return try body(&span)
                }
            }
            guard let window else {
                var span = RawSpan()
                return try body(&span)
            }
            var span = RawSpan(_unsafeBytes: window.bytes)
            defer { window.drop(window.count - span.byteCount) }
            return try body(&span)
        }

        private mutating func drop(_ count: Int) {
            _ = self.bytes?.removeFirst(atMost: count)
            if self.bytes?.isEmpty == true { self.bytes = nil }
        }

        mutating func fill(upTo byteCount: Int, from base: BlobReader) throws -> BlobReadResult {
            if self.isEmpty, let bytes = try base.readBytes(atMost: byteCount) {
                self.bytes = bytes
                return .bytes
            }
            let window = self.window ?? Window(byteCount)
            self.window = window
            if let bytes = self.bytes.take() {
                window.fill { output in bytes.withUnsafeBytes { _ = output.append(contentsOf: $0) } }
            }
            return try window.append { try base.read(into: &$0) }
        }
    }
}
