import BlobCore
import BlobPlatform

/// A regular file as it was when opened, read with `pread(2)` directly into the caller's memory.
///
/// After each read, before its bytes are accepted, the file's status is checked again, so that the delivered bytes are
/// a true prefix of the snapshot. If the file has grown, the last delivered bytes are read again and compared: an
/// append leaves them unchanged, but a rewrite rarely does. On kernels before Linux 6.13, modification times are only
/// as precise as the timer tick (4 ms at 250 Hz), so a rewrite of the same size within the tick of the opening is not
/// detected.
///
/// Small reads in a row are served from memory: a system call for each of them takes longer than the copy.
final class FileSnapshot {
    /// The size in bytes below which a read is small.
    private static let smallByteCount = 4096
    /// The number of small reads in a row after which bytes are read ahead.
    private static let smallReadCount = 4
    /// The number of bytes to read ahead.
    private static let aheadByteCount = 16 * 1024

    private let descriptor: FileDescriptor
    // Only the parts of the context that are needed for waiting, because thousands of readers may be open.
    private let cancellation: BlobCancellation
    private let deadline: ContinuousClock.Instant?
    private var lastStatus: FileStatus
    private var deliveredBytes = DeliveredBytes()
    /// The offset after the last delivered bytes and the bytes read ahead.
    private var deliveredEnd: Int64 = 0
    private var smallReads = 0
    /// The bytes read ahead, which the file had when they were read.
    private var ahead: Window?
    private let growth: FileSource.GrowthPolicy

    init(_ descriptor: FileDescriptor, growth: FileSource.GrowthPolicy, _ context: BlobContext) {
        self.descriptor = descriptor
        self.cancellation = context.cancellation
        self.deadline = context.deadline
        self.lastStatus = descriptor.status
        self.growth = growth
    }

    private var byteCount: Int64 { self.descriptor.status.byteCount }

    /// The extent of the delivered bytes to compare if the file has grown.
    private var comparedExtent: DeliveredBytes.Extent { self.growth == .snapshot ? .last : .none }

    /// Reads bytes, waiting for the device if necessary.
    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws {
        _ = try self.combine(at: byteOffset, into: &output) { output in
            try self.readFile(at: byteOffset, into: &output)
            return true
        }
    }

    /// Reads bytes that are in the page cache; returns false if none are, or if only waiting can show whether data is
    /// being appended to the file.
    func readNow(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> Bool {
        try self.combine(at: byteOffset, into: &output) { try self.readFileNow(at: byteOffset, into: &$0) }
    }

    /// Delivers bytes read ahead, or calls `read` with `output`; with more memory after several small reads in a row.
    private func combine(
        at byteOffset: Int64, into output: inout OutputRawSpan, _ read: (inout OutputRawSpan) throws -> Bool
    ) rethrows -> Bool {
        if let ahead, !ahead.isEmpty, byteOffset == self.deliveredEnd - Int64(ahead.count) {
            ahead.move(to: &output)
            return true
        }
        self.smallReads =
            output.freeCapacity < Self.smallByteCount && byteOffset == self.deliveredEnd ? self.smallReads + 1 : 0
        guard self.smallReads > Self.smallReadCount else {
            self.ahead = nil
            return try read(&output)
        }
        let ahead = self.ahead ?? Window(Self.aheadByteCount)
        self.ahead = ahead
        var isThere = true
        let byteCount = Int(clamping: self.byteCount - byteOffset)
        _ = try ahead.fill { try $0.append(atMost: byteCount) { isThere = try read(&$0) } }
        ahead.move(to: &output)
        return isThere
    }

    private func readFile(at byteOffset: Int64, into output: inout OutputRawSpan) throws {
        let count = try output.append { buffer in
            // If the file has grown, there are bytes after its old end.
            byteOffset < self.byteCount ? try self.descriptor.read(into: buffer, at: byteOffset) : 0
        }
        if try !self.isUnchanged() { try self.waitForAppend() }
        try self.recordDelivery(count, of: output, at: byteOffset)
    }

    private func readFileNow(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> Bool {
        var isThere = true
        let count = try output.append { buffer in
            guard byteOffset < self.byteCount else { return 0 }
            if case .bytes(let count) = try self.descriptor.readNow(into: buffer, at: byteOffset) { return count }
            isThere = false
            return 0
        }
        guard try isThere && self.isUnchanged() else {
            output.removeLast(count)
            return false
        }
        try self.recordDelivery(count, of: output, at: byteOffset)
        return true
    }

    /// Records the last delivered bytes.
    private func recordDelivery(_ count: Int, of output: borrowing OutputRawSpan, at byteOffset: Int64)
        throws(BlobError)
    {
        guard count > 0 || byteOffset >= self.byteCount else {
            throw BlobError(.truncated, "The file ends before its stated size of \(self.byteCount) bytes.")
        }
        // Bytes that were read ahead but did not fit are read again.
        if byteOffset != self.deliveredEnd { self.deliveredBytes = DeliveredBytes() }
        self.deliveredEnd = byteOffset + Int64(count)
        output.bytes.withUnsafeBytes { bytes in
            let new = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - count)..<bytes.count])
            self.deliveredBytes.append(new, self.comparedExtent)
        }
    }

    /// The maximum wait for an append, in milliseconds. Copying a page takes far less, unless the writer cannot run.
    private static let maximumAppendWaitMilliseconds = 50

    /// Checks that the file is unchanged since it was opened; returns false if only a later check can determine this.
    private func isUnchanged() throws(BlobError) -> Bool {
        let now = try self.descriptor.currentStatus()
        // The name and permissions of a file may change while it is read.
        guard !now.hasContent(of: self.lastStatus) else { return true }
        // An append changes the time first, and the size a moment later when its first page is copied (observed on
        // Linux).
        guard self.growth == .strict || now.byteCount != self.byteCount else { return false }
        try self.accept(now)
        return true
    }

    /// Waits up to ``maximumAppendWaitMilliseconds`` milliseconds for the size to change.
    private func waitForAppend() throws(BlobError) {
        let context = BlobContext(deadline: self.deadline, cancellation: self.cancellation)
        var now = try self.descriptor.currentStatus()
        for _ in 0..<Self.maximumAppendWaitMilliseconds where now.byteCount == self.byteCount {
            try context.pause(for: .milliseconds(1))
            now = try self.descriptor.currentStatus()
        }
        try self.accept(now)
    }

    /// Accepts a changed status if data was appended. A larger file is treated as the result of an append.
    private func accept(_ now: FileStatus) throws(BlobError) {
        if now.byteCount < self.byteCount {
            throw BlobError(
                .changed, "The file shrank from \(self.byteCount) to \(now.byteCount) bytes while it was being read.")
        }
        guard now.byteCount > self.byteCount, self.growth == .snapshot else {
            throw BlobError(.changed, "The file was modified while it was being read.")
        }
        try self.compare()
        self.lastStatus = now
    }

    /// Reads the last delivered bytes again and compares them.
    private func compare() throws(BlobError) {
        var proof = self.deliveredBytes.proof(self.comparedExtent)
        let byteCount = proof.byteCount
        try withUnsafeTemporaryAllocation(byteCount: Int(byteCount), alignment: 16) { buffer throws(BlobError) in
            while proof.byteCount > 0 {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(proof.byteCount)])
                let count = try self.descriptor.read(into: rest, at: self.deliveredEnd - proof.byteCount)
                guard count > 0 else { break }
                proof.append(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            }
        }
        guard proof.byteCount == 0, proof.isConfirmed else {
            throw BlobError(
                .changed,
                "The file was rewritten while it was being read: the \(byteCount) bytes before byte "
                    + "\(self.deliveredEnd) have changed.")
        }
    }
}
