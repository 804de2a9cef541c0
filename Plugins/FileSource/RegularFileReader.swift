import BlobStreams
import Foundation

/// Reads a regular file with `pread(2)`, straight into the caller's memory.
///
/// After each read and before its bytes count, the file is looked at again, so that what was delivered is a true prefix
/// of the snapshot. Where it grew, the bytes delivered last are read again and compared: an append leaves them, a file
/// that was written anew rarely does. On kernels before Linux 6.13 times of modification are as coarse as the timer tick (4 ms at 250
/// Hz): a rewrite of the same size within the tick of the opening cannot be seen there.
final class RegularFileReader: BlobSkippingReader {
    let info: BlobInfo
    private let descriptor: FileDescriptor
    // What a wait needs of the context, and no more: thousands of readers may be open.
    private let cancellation: BlobCancellation
    private let deadline: ContinuousClock.Instant?
    private var lastStatus: FileStatus
    private var delivered = DeliveredBytes()
    private let growth: FileSource.GrowthPolicy
    private var byteOffset: Int64
    private var failure: BlobError?

    init(
        _ descriptor: FileDescriptor, info: BlobInfo, at byteOffset: Int64, growth: FileSource.GrowthPolicy,
        _ context: BlobContext
    ) {
        self.info = info
        self.descriptor = descriptor
        self.cancellation = context.cancellation
        self.deadline = context.deadline
        self.lastStatus = descriptor.status
        self.growth = growth
        self.byteOffset = byteOffset
    }

    private var snapshot: FileStatus { self.descriptor.status }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        do {
            let room = Int(clamping: self.snapshot.byteCount - self.byteOffset)
            let count = try output.append(atMost: room) { part in
                let count = try part.withUnsafeMutableBytes { buffer, initializedCount in
                    let count = buffer.isEmpty ? 0 : try self.descriptor.read(into: buffer, at: self.byteOffset) ?? 0
                    initializedCount = max(count, 0)
                    return count
                }
                try self.checkSnapshot()
                guard count > 0 || room == 0 else {
                    throw BlobError(
                        .truncated, "The file ends here, and says that it has \(self.snapshot.byteCount) bytes.")
                }
                part.bytes.withUnsafeBytes { self.delivered.append($0, at: self.byteOffset) }
            }
            self.byteOffset += Int64(count)
        } catch {
            let error = BlobError(wrapping: error)
            self.failure = error
            throw error
        }
    }

    func skip(_ byteCount: Int64) { self.byteOffset += byteCount }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.descriptor.close()
    }

    /// In milliseconds; a page is copied in far less, unless the writer is kept from running.
    private static let appendPatience = 50

    private func checkSnapshot() throws(BlobError) {
        var now = try self.descriptor.currentStatus()
        guard now != self.lastStatus else { return }
        if self.growth == .snapshot { now = try self.statusAfterAppend(now) }
        if now.byteCount < self.snapshot.byteCount {
            throw BlobError(
                .changed, "The file shrank from \(self.snapshot.byteCount) to \(now.byteCount) bytes while it was read."
            )
        }
        // A larger file was appended to, as far as anyone can tell.
        guard now.byteCount > self.snapshot.byteCount, self.growth == .snapshot else {
            throw BlobError(.changed, "The file was written to while it was read.")
        }
        try self.delivered.compare(with: self.descriptor)
        self.lastStatus = now
    }

    /// An append changes the time first and the size a moment later, when its first page is copied (seen on Linux).
    private func statusAfterAppend(_ status: FileStatus) throws(BlobError) -> FileStatus {
        var now = status
        let (context, signal) = (BlobContext(deadline: self.deadline, cancellation: self.cancellation), WaitSignal())
        let registration = context.onCancel { signal.signal() }
        defer { registration.remove() }
        for _ in 0..<Self.appendPatience where now.byteCount == self.snapshot.byteCount {
            _ = signal.wait(for: .milliseconds(1))
            try context.check()
            now = try self.descriptor.currentStatus()
        }
        return now
    }
}
