import BlobCore
import BlobPlatform

/// Reads files without a size or offsets: FIFOs, standard input and files of `/proc`.
///
/// A descriptor is read only when `poll(2)` reports it as readable, even one in blocking mode, so that no read blocks
/// and a FIFO without its first writer does not seem to be at its end.
final class SequentialReader: BlobPluginReader {
    let info: BlobInfo
    private let descriptor: FileDescriptor
    private var parking: BlobRegistration?
    private var isAtEnd = false
    private var failure: (any Error)?

    init(_ descriptor: FileDescriptor, info: BlobInfo) {
        self.info = info
        self.descriptor = descriptor
    }

    /// False for a file of `/proc`, whose contents are made while it is read.
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
