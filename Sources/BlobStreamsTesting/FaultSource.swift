import BlobStreams
import Foundation

/// Another source with something wrong, or merely difficult, in its way of giving its bytes.
///
/// For tests of what reads from sources. The faults that break a contract are caught by the conformance kit or by the
/// guard; the difficult ones must be invisible to every consumer.
public struct FaultSource: BlobInputStreamDataSource {
    /// What is wrong. Offsets are in bytes from the start of the blob.
    public enum Fault: Sendable {
        /// Each read appends one byte. Legal.
        case oneByte
        /// Each read appends at most half of what there is room for, at least one byte. Legal.
        case half
        /// Each read waits for this long and appends one byte. Legal; can be cancelled.
        case slowDrip(every: Duration)
        /// No more bytes come from here on, until the job is cancelled or its time is up. Legal.
        case stall(at: Int64)
        /// The read at this offset takes this long and cannot be cancelled: breaks C12.
        case deafStall(at: Int64, for: Duration)
        /// The read that would get past this offset throws, and so do all later ones.
        case fail(at: Int64, BlobError = BlobError(.io, "This is a fault that a test injected."))
        /// The end comes here, without an error: breaks C8.
        case truncate(at: Int64)
        /// From here on the bytes are other ones (each inverted), without an error: breaks C8 and C11.
        case change(at: Int64)
        /// The declared byte count is off by this much: breaks C8.
        case lyingSize(by: Int64)
    }

    private let base: any BlobInputStreamDataSource
    private let fault: Fault

    /// Creates a source with the bytes of `base`, but for the fault.
    public init(_ base: any BlobInputStreamDataSource, _ fault: Fault) {
        self.base = base
        self.fault = fault
    }

    /// Those of the base.
    public var capabilities: BlobCapabilities { self.base.capabilities }

    /// That of the base, with the size that the fault makes it say.
    public func info(_ context: BlobContext) throws -> BlobInfo { self.lying(try self.base.checkedInfo(context)) }

    /// Opens a reader of the base behind the fault.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let reader = try self.base.open(at: byteOffset, matching: validator, context: context)
        return FaultReader(reader, self.fault, info: self.lying(reader.info), context)
    }

    private func lying(_ info: BlobInfo) -> BlobInfo {
        guard case .lyingSize(let difference) = self.fault else { return info }
        var info = info
        info.byteCount = info.byteCount.map { $0 + difference }
        return info
    }
}

private final class FaultReader: BlobReader {
    let info: BlobInfo
    private let base: BlobGuardedReader
    private let fault: FaultSource.Fault
    private let context: BlobContext

    init(_ base: BlobGuardedReader, _ fault: FaultSource.Fault, info: BlobInfo, _ context: BlobContext) {
        self.base = base
        self.fault = fault
        self.info = info
        self.context = context
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        switch self.fault {
        case .oneByte: return try self.read(atMost: 1, &output)
        case .half: return try self.read(atMost: max(1, output.freeCapacity / 2), &output)
        case .slowDrip(let interval):
            try self.context.pause(for: interval)
            return try self.read(atMost: 1, &output)
        case .lyingSize: return try self.base.readWaiting(into: &output)
        case .stall(let offset):
            if try self.readUp(to: offset, &output) { return .bytes }
            return try self.context.wait(on: WaitSignal()) { BlobReadResult?.none }
        case .deafStall(let offset, let duration):
            if try self.readUp(to: offset, &output) { return .bytes }
            if self.base.byteOffset == offset { _ = WaitSignal().wait(for: duration) }
            return try self.base.readWaiting(into: &output)
        case .fail(let offset, let error):
            if try self.readUp(to: offset, &output) { return .bytes }
            throw error
        case .truncate(let offset): return try self.readUp(to: offset, &output) ? .bytes : .end
        case .change(let offset):
            if try self.readUp(to: offset, &output) { return .bytes }
            var result = BlobReadResult.end
            try output.append(atMost: .max) { part in
                result = try self.base.readWaiting(into: &part)
                part.withUnsafeMutableBytes { buffer, count in
                    for index in 0..<count { buffer[index] = ~buffer[index] }
                }
            }
            return result
        }
    }

    func close() { self.base.close() }

    private func read(atMost byteCount: Int, _ output: inout OutputRawSpan) throws -> BlobReadResult {
        var result = BlobReadResult.end
        try output.append(atMost: byteCount) { result = try self.base.readWaiting(into: &$0) }
        return result
    }

    /// Reads below `offset`; false at or past it.
    private func readUp(to offset: Int64, _ output: inout OutputRawSpan) throws -> Bool {
        let room = offset - self.base.byteOffset
        guard room > 0 else { return false }
        return try self.read(atMost: Int(clamping: room), &output) == .bytes
    }
}

extension BlobContext {
    /// Lets time pass, unless the job ends first.
    fileprivate func pause(for duration: Duration) throws(BlobError) {
        let end = ContinuousClock.now + duration
        let signal = WaitSignal()
        let registration = self.onCancel { signal.signal() }
        defer { registration.remove() }
        while ContinuousClock.now < end {
            try self.check()
            _ = signal.wait(for: min(.now + .milliseconds(100), end) - .now)
        }
        try self.check()
    }
}
