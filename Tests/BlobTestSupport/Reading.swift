package import BlobCore
import Foundation

/// Reads once, waiting while there are no bytes; nothing is the end.
package func read(_ reader: BlobReader, upTo byteCount: Int = 1 << 16) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
        initializedCount = try reader.readWaiting(into: UnsafeMutableRawBufferPointer(buffer))
    }
}

/// Reads all bytes to the end, at most `byteCount` a call.
package func readAll(_ reader: BlobReader, inPiecesOf byteCount: Int = 1 << 16) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let piece = try read(reader, upTo: byteCount), !piece.isEmpty { bytes += piece }
    return bytes
}

extension Data {
    /// One read of `reader`, which waits unless told otherwise; empty at the end, and when nothing is there yet.
    package init(readingAtMost byteCount: Int, from reader: BlobReader, waits: Bool = true) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
        defer { buffer.deallocate() }
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try waits ? reader.readWaiting(into: &output) : reader.read(into: &output)
        self = Data(buffer.prefix(output.finalize(for: buffer)))
    }
}
