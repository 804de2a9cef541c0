import BlobStreams
import Foundation

/// Reads what has no size and no offsets: FIFOs, standard input, files of `/proc`.
final class SequentialReader: BlobReader {
    let info: BlobInfo
    private let descriptor: FileDescriptor
    private let context: BlobContext
    private var isAtEnd = false
    private var failure: BlobError?

    init(_ descriptor: FileDescriptor, info: BlobInfo, _ context: BlobContext) {
        self.info = info
        self.descriptor = descriptor
        self.context = context
    }

    func read(into output: inout OutputRawSpan) throws {
        if let failure { throw failure }
        guard !self.isAtEnd else { return }
        do {
            self.isAtEnd = try self.readOnce(&output) == 0
        } catch {
            self.failure = error
            throw error
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.descriptor.close()
    }

    /// Appends at least one byte, or none at the end.
    private func readOnce(_ output: inout OutputRawSpan) throws(BlobError) -> Int {
        try output.withUnsafeMutableBytes { buffer, initializedCount throws(BlobError) in
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
            while true {
                // Also for descriptors in blocking mode: a read that was waited for returns at once.
                try self.context.waitReadable(self.descriptor.rawValue)
                if let count = try self.descriptor.read(into: free, at: nil) {
                    initializedCount += count
                    return count
                }
            }
        }
    }
}
