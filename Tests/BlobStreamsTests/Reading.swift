import BlobStreams
import Foundation

extension Data {
    /// One read of `reader`, which waits unless told otherwise; empty at the end, and when nothing is there yet.
    init(readingAtMost byteCount: Int, from reader: BlobGuardedReader, waits: Bool = true) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
        defer { buffer.deallocate() }
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try waits ? reader.readWaiting(into: &output) : reader.read(into: &output)
        self = Data(buffer.prefix(output.finalize(for: buffer)))
    }
}
