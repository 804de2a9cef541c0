import BlobStreams
import Foundation

/// Reads what has no size and no offsets: FIFOs, standard input, files of `/proc`.
///
/// A descriptor is read once the system says that there is something, also one in blocking mode: nothing waits, and the end
/// of a FIFO is not taken from before its first writer came.
final class SequentialReader: BlobReader {
    let info: BlobInfo
    private let descriptor: FileDescriptor
    private var parking: BlobRegistration?
    private var isAtEnd = false
    private var failure: (any Error)?

    init(_ descriptor: FileDescriptor, info: BlobInfo) {
        self.info = info
        self.descriptor = descriptor
    }

    /// A file of `/proc` is made while it is read.
    var neverBlocks: Bool { self.descriptor.status.isFIFO }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        guard !self.isAtEnd else { return .end }
        do {
            let count = try output.withUnsafeMutableBytes { buffer, initializedCount in
                let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
                let count = try self.descriptor.isReadable() ? self.descriptor.read(into: free, at: nil) : nil
                initializedCount += count ?? 0
                return count
            }
            self.isAtEnd = count == 0
            return count.map { $0 > 0 ? .bytes : .end } ?? .notYet
        } catch {
            self.failure = error
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) {
        do {
            self.parking = try BlobContext().park(self.descriptor.rawValue, waker)
        } catch {
            self.failure = error
            waker.wake()
        }
    }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.parking = nil
        self.descriptor.close()
    }
}
