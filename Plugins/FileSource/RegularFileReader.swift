import BlobCore
import BlobPlatform

/// Reads a regular file with `pread(2)`, straight into the caller's memory.
///
/// After each read and before its bytes count, the file's status is checked again, so that the delivered bytes are a
/// true prefix of the snapshot. If the file has grown, the bytes delivered last are read again and compared: an append
/// leaves them unchanged, a rewrite rarely does. On kernels before Linux 6.13, modification times are as coarse as the
/// timer tick (4 ms at 250 Hz): a rewrite of the same size within the tick of the opening goes unnoticed there.
///
/// Unless the job may block, only bytes in the page cache are read in place, where the system can tell; a pool thread
/// reads the rest.
final class RegularFileReader: BlobPluginReader {
    /// The cause of the last `notYet`.
    private enum Cause {
        case page, append
    }

    let info: BlobInfo
    let neverBlocks: Bool
    private let descriptor: FileDescriptor
    // Only the parts of the context that a wait needs, because thousands of readers may be open.
    private let cancellation: BlobCancellation
    private let deadline: ContinuousClock.Instant?
    private var lastStatus: FileStatus
    private var delivered: DeliveredBytes
    private let growth: FileSource.GrowthPolicy
    private var byteOffset: Int64
    private var isClosed = false
    private var failure: BlobError?
    private var cause: Cause?
    private var fetch: PageFetch?
    private var timer: BlobRegistration?
    private var patience = RegularFileReader.maximumAppendWaitMilliseconds

    init(
        _ descriptor: FileDescriptor, info: BlobInfo, at byteOffset: Int64, growth: FileSource.GrowthPolicy,
        _ context: BlobContext
    ) {
        self.info = info
        self.descriptor = descriptor
        self.cancellation = context.cancellation
        self.deadline = context.deadline
        self.lastStatus = descriptor.status
        self.delivered = DeliveredBytes(fileByteCount: descriptor.status.byteCount)
        self.growth = growth
        self.byteOffset = byteOffset
        self.neverBlocks = !context.mayBlock && descriptor.canReadNow
    }

    private var snapshot: FileStatus { self.descriptor.status }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
        if let failure { throw failure }
        let room = Int(clamping: self.snapshot.byteCount - self.byteOffset)
        do {
            self.cause = nil
            let count = try output.append(atMost: room) { part in
                try part.withUnsafeMutableBytes { buffer, initializedCount in
                    initializedCount = buffer.isEmpty ? 0 : try self.readNow(into: buffer) ?? 0
                }
                let isWhole = try self.cause == nil && self.checkSnapshot()
                if !isWhole { part.removeLast(part.byteCount) }
                guard isWhole, part.byteCount == 0, room > 0 else { return }
                throw BlobError(
                    .truncated, "The file ends here, and says that it has \(self.snapshot.byteCount) bytes.")
            }
            output.bytes.withUnsafeBytes { bytes in
                let read = UnsafeRawBufferPointer(rebasing: bytes.suffix(count))
                if count > 0 { self.delivered.append(read, at: self.byteOffset) }
            }
            self.byteOffset += Int64(count)
            return count > 0 ? .bytes : self.cause == nil ? .end : .notYet
        } catch {
            let error = BlobError(wrapping: error)
            self.failure = error
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) {
        switch self.cause {
        case .page:
            let fetch = self.fetch ?? PageFetch()
            self.fetch = fetch
            fetch.start(self.descriptor, at: self.byteOffset, waker)
        case .append: self.timer = BlobContext().wake(after: .milliseconds(1), waker)
        case nil: waker.wake()
        }
    }

    func close() {
        self.isClosed = true
        self.fetch?.drop()
        (self.fetch, self.timer) = (nil, nil)
        self.descriptor.close()
    }

    /// Reads at the current offset; returns nil when that would block and must not.
    private func readNow(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        guard self.neverBlocks else { return try self.descriptor.read(into: buffer, at: self.byteOffset) }
        if let fetch {
            switch fetch.take(into: buffer) {
            case nil:
                self.cause = .page
                return nil
            case .success(let count):
                self.fetch = nil
                return count
            case .failure(let error): throw error
            }
        }
        guard case .bytes(let count) = try self.descriptor.readNow(into: buffer, at: self.byteOffset) else {
            self.cause = .page
            return nil
        }
        return count
    }

    /// The longest wait for an append, in milliseconds; copying a page takes far less, unless the writer cannot run.
    private static let maximumAppendWaitMilliseconds = 50

    /// Checks that the file is still the one that was opened; returns false when only a later check can tell.
    private func checkSnapshot() throws(BlobError) -> Bool {
        var now = try self.descriptor.currentStatus()
        guard now != self.lastStatus else { return true }
        if self.growth == .snapshot, now.byteCount == self.snapshot.byteCount {
            guard !self.neverBlocks else {
                self.patience -= 1
                if self.patience > 0 { self.cause = .append }
                guard self.patience <= 0 else { return false }
                throw self.rewritten
            }
            now = try self.statusAfterAppend(now)
        }
        if now.byteCount < self.snapshot.byteCount {
            throw BlobError(
                .changed, "The file shrank from \(self.snapshot.byteCount) to \(now.byteCount) bytes while it was read."
            )
        }
        // A larger file is taken for one that was appended to.
        guard now.byteCount > self.snapshot.byteCount, self.growth == .snapshot else { throw self.rewritten }
        try self.delivered.compare(with: self.descriptor)
        self.lastStatus = now
        return true
    }

    private var rewritten: BlobError { BlobError(.changed, "The file was written to while it was read.") }

    /// Waits up to ``maximumAppendWaitMilliseconds`` milliseconds for the size to change, and returns the status then.
    ///
    /// An append changes the time first and the size a moment later, when its first page is copied (seen on Linux).
    private func statusAfterAppend(_ status: FileStatus) throws(BlobError) -> FileStatus {
        var now = status
        let (context, signal) = (BlobContext(deadline: self.deadline, cancellation: self.cancellation), WaitSignal())
        let registration = context.cancellation.onCancel { signal.signal() }
        defer { registration.cancel() }
        for _ in 0..<Self.maximumAppendWaitMilliseconds where now.byteCount == self.snapshot.byteCount {
            _ = signal.wait(for: .milliseconds(1))
            try context.check()
            now = try self.descriptor.currentStatus()
        }
        return now
    }
}
