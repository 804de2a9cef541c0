import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// The reading of sources for their digests, several in one pass, with one progress line for all of them.
final class Hashing {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copying.bufferByteCount, alignment: 4096)
    let line: ProgressLine
    private let algorithms: [CryptoDigest]
    private let itemCount: Int?
    private let context: BlobContext
    private var finishedCount = 0
    private var byteCount: Int64 = 0

    /// - Parameter itemCount: The number of sources; nil when it is unknown.
    init(_ algorithms: [CryptoDigest], itemCount: Int?, _ line: ProgressLine, _ context: BlobContext) {
        (self.algorithms, self.itemCount, self.line, self.context) = (algorithms, itemCount, line, context)
    }

    deinit { self.buffer.deallocate() }

    /// Returns the digests of a source, in the order of the algorithms.
    func digests(of source: any BlobInputStreamDataSource) throws(BlobError) -> [[UInt8]] {
        let reader = try source.open(context: self.context)
        defer {
            reader.close()
            self.finishedCount += 1
        }
        var hashers = self.algorithms.map { $0.makeHasher() }
        let total = self.itemCount == 1 ? reader.info.byteCount : nil
        do {
            while case let count = try reader.readWaiting(into: self.buffer), count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: self.buffer[..<count])
                for index in hashers.indices { hashers[index].update(bytes) }
                self.byteCount += Int64(count)
                self.line.show(
                    self.byteCount, of: total, note: ProgressLine.note(self.finishedCount, of: self.itemCount))
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        return hashers.indices.map { hashers[$0].finalize() }
    }
}
