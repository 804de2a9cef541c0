import BlobStreams
import Foundation

/// Reads what has no size and no offsets: FIFOs, standard input, files of `/proc`.
final class SequentialReader: BlobReader {
    let info: BlobInfo
    private let descriptor: FileDescriptor
    private let context: BlobContext
    private let firstOffset: Int64
    private var bytesToSkip: Int64
    private var isAtEnd = false
    private var failure: BlobError?

    init(_ descriptor: FileDescriptor, info: BlobInfo, bytesToSkip: Int64, _ context: BlobContext) {
        self.info = info
        self.descriptor = descriptor
        self.context = context
        self.firstOffset = bytesToSkip
        self.bytesToSkip = bytesToSkip
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        guard !self.isAtEnd else { return }
        do {
            while self.bytesToSkip > 0 {
                // The caller's own memory takes the bytes that are dropped.
                let skipped = try output.append(atMost: Int(clamping: self.bytesToSkip)) { try self.readOnce(&$0) }
                output.removeLast(skipped)
                self.bytesToSkip -= Int64(skipped)
                guard skipped > 0 else {
                    let end = self.firstOffset - self.bytesToSkip
                    throw BlobError(
                        .invalidArgument, "The offset \(self.firstOffset) is past the end of \(end) bytes.")
                }
            }
            let count = try output.append(atMost: .max) { try self.readOnce(&$0) }
            self.isAtEnd = count == 0
        } catch {
            let error = BlobError(wrapping: error)
            self.failure = error
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.descriptor.close()
    }

    /// Appends at least one byte, or none at the end.
    private func readOnce(_ output: inout OutputRawSpan) throws {
        try output.withUnsafeMutableBytes { buffer, initializedCount in
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
            while true {
                // Also for descriptors in blocking mode: a read that was waited for returns at once.
                try self.context.waitReadable(self.descriptor.rawValue)
                let count = try self.descriptor.read(into: free, at: nil)
                if count >= 0 {
                    initializedCount += count
                    return
                }
            }
        }
    }
}
