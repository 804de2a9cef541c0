import BlobCore
import BlobPlatform

/// Reads files without a size or offsets: FIFOs, standard input and files of `/proc`.
///
/// A descriptor is read only when `poll(2)` reports it as readable, even one in blocking mode, so that no read blocks
/// and a FIFO without its first writer does not seem to be at its end.
final class SequentialStream: BlobByteStream {
    let info: BlobInfo?
    private let descriptor: FileDescriptor
    private let slot = BlobWakerSlot()
    private var parking: BlobRegistration?

    init(_ descriptor: FileDescriptor, info: BlobInfo) {
        self.info = info
        self.descriptor = descriptor
    }

    /// False for a file of `/proc`, whose contents are made while it is read.
    var neverBlocks: Bool { self.descriptor.status.isFIFO }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let count = try output.withUnsafeMutableBytes { buffer, initializedCount in
            let free = UnsafeMutableRawBufferPointer(rebasing: buffer[initializedCount...])
            let count = try self.descriptor.isReadable() ? self.descriptor.read(into: free, at: nil) : nil
            initializedCount += count ?? 0
            return count
        }
        guard let count else {
            self.parking = try BlobContext().park(self.descriptor.rawValue, BlobWaker { [slot] in slot.fire() })
            return .notYet
        }
        return count > 0 ? .bytes : .end
    }

    func close() {
        self.parking = nil
        self.descriptor.close()
    }
}
