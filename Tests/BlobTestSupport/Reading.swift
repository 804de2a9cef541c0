package import BlobCore
package import Foundation

/// Reads once, waiting while there are no bytes; nothing is the end.
package func read(_ reader: BlobReader, upTo byteCount: Int = 1 << 16) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
        initializedCount = try reader.readBlocking(into: UnsafeMutableRawBufferPointer(buffer))
    }
}

/// Reads all bytes to the end, at most `byteCount` a call.
package func readAll(_ reader: BlobReader, inPiecesOf byteCount: Int = 1 << 16) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let piece = try read(reader, upTo: byteCount), !piece.isEmpty { bytes += piece }
    return bytes
}

/// The bytes of a source, and the error after them.
package struct ReadingOutcome: Sendable {
    package private(set) var bytes: [UInt8]
    /// Nil when the end was reported.
    package private(set) var error: BlobError?
    /// The code of the error.
    package var code: BlobError.Code? { self.error?.code }

    /// Opens a source, and reads it to the end or to an error, at most `byteCount` a call; blocks.
    package init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, _ context: BlobContext = BlobContext(),
        inPiecesOf byteCount: Int = 1 << 16
    ) {
        self.bytes = []
        do {
            let reader = try source.open(at: byteOffset, context: context)
            defer { reader.close() }
            self = ReadingOutcome(reader, inPiecesOf: byteCount)
        } catch {
            self.error = BlobError(wrapping: error)
        }
    }

    /// Reads the rest of what is open, at most `byteCount` a call; blocks.
    package init(_ reader: BlobReader, after bytes: [UInt8] = [], inPiecesOf byteCount: Int = 1 << 16) {
        self.bytes = bytes
        do {
            while case let piece = try read(reader, upTo: byteCount), !piece.isEmpty { self.bytes += piece }
        } catch {
            self.error = BlobError(wrapping: error)
        }
    }
}

/// Reads once, without waiting.
package func readNow(_ reader: BlobReader, upTo byteCount: Int = 64) throws -> (result: BlobReadResult, bytes: [UInt8])
{
    try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { buffer in
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        let result = try reader.read(into: &output)
        return (result, Array(buffer.prefix(output.finalize(for: buffer))))
    }
}

extension Data {
    /// One read of `reader`, which waits unless told otherwise; empty at the end, and when nothing is there yet.
    package init(readingAtMost byteCount: Int, from reader: BlobReader, waits: Bool = true) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
        defer { buffer.deallocate() }
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try waits ? reader.readBlocking(into: &output) : reader.read(into: &output)
        self = Data(buffer.prefix(output.finalize(for: buffer)))
    }
}
