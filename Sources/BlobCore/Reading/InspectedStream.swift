/// The stream of an inspected body.
final class InspectedStream: StreamOverReader {
    private let base: BlobReader
    private var inspector: any BlobInspector
    private let context: BlobContext
    private var cachedInfo: (base: BlobInfo, info: BlobInfo)?
    private var timer: TimerWait?
    private var isAtEnd = false

    init(_ base: BlobReader, _ inspector: any BlobInspector, _ context: BlobContext) {
        (self.base, self.inspector, self.context) = (base, inspector, context)
        base.deferChecks(to: context)
    }

    var info: BlobInfo? {
        get throws {
            do {
                guard let info = try self.base.knownInfo() else { return nil }
                if let cachedInfo, cachedInfo.base == info { return cachedInfo.info }
                let made = try self.inspector.info(of: info)
                self.cachedInfo = (info, made)
                return made
            } catch {
                throw self.reportedError(error)
            }
        }
    }

    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.timer?.slot ?? self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        while !self.isAtEnd {
            guard let limit = try self.readLimit() else { return self.isAtEnd ? .end : .notYet }
            let start = output.byteCount
            let offset = self.base.byteOffset
            let result: BlobReadResult
            do {
                result = try self.base.read(into: &output, atMost: Int(clamping: limit))
            } catch {
                throw self.reportedError(error)
            }
            guard result == .bytes else {
                if result == .end { try self.end() }
                return result
            }
            let count = output.byteCount - start
            let passed = try output.bytes.withUnsafeBytes {
                try self.pass(UnsafeRawBufferPointer(rebasing: $0[start...]), at: offset)
            }
            if passed.count == count { return .bytes }
            output.keep(passed, ofLast: count)
            if !passed.isEmpty { return .bytes }
        }
        return .end
    }

    func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        guard !self.isAtEnd, let limit = try self.readLimit() else { return nil }
        let offset = self.base.byteOffset
        let taken: BlobBytes?
        do {
            taken = try self.base.readBytes(atMost: min(byteCount, Int(clamping: limit)))
        } catch {
            throw self.reportedError(error)
        }
        guard var bytes = taken else { return nil }
        let passed = try bytes.withUnsafeBytes { try self.pass($0, at: offset) }
        bytes.keep(passed)
        return bytes.isEmpty ? nil : bytes
    }

    func close() {
        self.timer = nil
        self.base.close()
    }

    private func pass(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int64) throws -> Range<Int> {
        let passed = try self.inspector.pass(RawSpan(_unsafeBytes: bytes), at: byteOffset, isLast: false)
        guard passed.lowerBound >= 0, passed.upperBound <= bytes.count else {
            throw BlobError(
                .misbehavingPlugin, "The inspector passed the range \(passed), but received \(bytes.count) bytes.")
        }
        if !passed.isEmpty, passed.upperBound < bytes.count { self.isAtEnd = true }
        return passed
    }

    private func end() throws {
        _ = try self.inspector.pass(RawSpan(), at: self.base.byteOffset, isLast: true)
        self.isAtEnd = true
    }

    /// Returns the number of bytes that may pass; nil if none may pass now, or at the end.
    private func readLimit() throws -> Int64? {
        if let timer {
            guard timer.isOver else { return nil }
            self.timer = nil
        }
        switch try self.inspector.readLimit() {
        case .bytes(let count): return max(count, 1)
        case .end:
            self.isAtEnd = true
            return nil
        case .wait(let end):
            self.timer = TimerWait(end - .now, self.context)
            return nil
        }
    }

    private func reportedError(_ error: any Error) -> BlobError {
        self.inspector.reportedError(BlobError(wrapping: error))
    }
}
