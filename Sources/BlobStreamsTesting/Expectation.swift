import BlobCore
import BlobPlatform

/// The expected bytes of a source: all of them, or pieces.
struct Expectation: Sendable {
    /// The number of bytes at the beginning that are all kept and compared.
    private static let wholeByteCount: Int64 = 64 << 20
    private static let pieceByteCount = 64 * 1024

    let byteCount: Int64
    private let pieces: [(byteOffset: Int64, bytes: Data)]

    init(_ bytes: Data) {
        self.byteCount = Int64(bytes.count)
        self.pieces = [(0, Data(bytes))]
    }

    /// Reads the source once to its end, through the guard.
    init(sampling source: any BlobInputStreamDataSource) throws {
        let reader = try source.open()
        defer { reader.close() }
        var beginning = Data()
        var end = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceByteCount, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if reader.byteOffset <= Self.wholeByteCount {
                beginning.append(contentsOf: bytes)
            } else {
                end.append(contentsOf: bytes)
                end = Data(end.suffix(Self.pieceByteCount))
            }
        }
        self.byteCount = reader.byteOffset
        self.pieces = [(0, beginning), (self.byteCount - Int64(end.count), end)]
    }

    /// Returns true when `bytes` may be the content at `byteOffset`.
    func agrees(with bytes: Data, at byteOffset: Int64) -> Bool {
        guard byteOffset + Int64(bytes.count) <= self.byteCount else { return false }
        return self.pieces.allSatisfy { piece in
            let range = (byteOffset..<(byteOffset + Int64(bytes.count)))
                .clamped(to: piece.byteOffset..<(piece.byteOffset + Int64(piece.bytes.count)))
            guard !range.isEmpty else { return true }
            let mine = Int(range.lowerBound - piece.byteOffset)..<Int(range.upperBound - piece.byteOffset)
            let theirs = Int(range.lowerBound - byteOffset)..<Int(range.upperBound - byteOffset)
            return piece.bytes[mine] == bytes.dropFirst(theirs.lowerBound).prefix(theirs.count)
        }
    }

    /// The offsets to check: both ends, the middle, and some between (the same in every run).
    var offsets: [Int64] {
        let steps: [Int64] = (0...8).map { $0 * (self.byteCount / 8) }
        let near: [Int64] = [
            0, 1, 2, 3, 7, self.byteCount / 3, self.byteCount - 65, self.byteCount - 1, self.byteCount,
        ]
        return Set(steps + near).filter { (0...self.byteCount).contains($0) }.sorted()
    }
}
