import BlobStreams
import Foundation

/// A source over bytes that counts how many are read.
final class CountedBytes: Sendable {
    private let bytes: Data
    private let count = Locked(Int64(0))

    init(_ bytes: Data) { self.bytes = bytes }

    var byteCount: Int { self.bytes.count }

    /// The number of bytes that all readers together have read.
    var readByteCount: Int64 { self.count.withLock { $0 } }

    var source: any BlobInputStreamDataSource {
        let info = BlobInfo(byteCount: Int64(self.bytes.count), validator: .strong("counted"))
        return ClosureSource(info: info) { offset, output, _ in
            let appended = self.bytes.dropFirst(Int(offset)).withUnsafeBytes { output.append(contentsOf: $0) }
            self.count.withLock { $0 += Int64(appended) }
        }
    }
}
