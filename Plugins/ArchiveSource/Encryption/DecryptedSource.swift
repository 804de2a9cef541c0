import BlobCore

/// The content of an encrypted packed stream of a 7z. Any offset costs the decryption of the block at it.
struct DecryptedSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let byteCount: Int64
    private let key: AES256
    private let initialVector: [UInt8]

    /// - Parameters:
    ///   - base: The encrypted bytes.
    ///   - packedByteCount: Their number.
    ///   - byteCount: The length of the content, which the base has in whole blocks.
    /// - Returns: Nil when the base is too short for the content.
    init?(
        _ base: any BlobInputStreamDataSource, packedByteCount: UInt64, byteCount: UInt64, _ key: AES256,
        _ initialVector: [UInt8]
    ) {
        let blocks = packedByteCount / UInt64(AES256.blockByteCount) * UInt64(AES256.blockByteCount)
        guard byteCount <= blocks, let byteCount = Int64(exactly: byteCount) else { return nil }
        (self.base, self.byteCount, self.key, self.initialVector) = (base, byteCount, key, initialVector)
    }

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo { self.info(over: try self.base.info(context)) }

    /// The key is not part of the validator: the source lives no longer than the reader of a folder.
    private func info(over base: BlobInfo) -> BlobInfo {
        BlobInfo(byteCount: self.byteCount, validator: base.validator, isRandomAccess: base.isRandomAccess)
    }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let blockByteCount = Int64(AES256.blockByteCount)
        try BlobInfo(byteCount: self.byteCount).check(byteOffset: byteOffset, matching: nil)
        // A block is decrypted with the encrypted block before it.
        let start = max(0, byteOffset / blockByteCount - 1) * blockByteCount
        let reader = try self.base.open(at: start, matching: validator, context: context)
        let info = self.info(over: try reader.info(of: self.base, context))
        return Reader(reader, self.key, self.initialVector, info: info).skipping(byteOffset - start)
    }

    private final class Reader: BlobPluginReader {
        private static let bufferByteCount = 64 * 1024

        let info: BlobInfo
        private let guarded: BlobReader
        private let key: AES256
        private var previous: [UInt8]
        private var restByteCount: Int64
        private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferByteCount, alignment: 16)
        /// The decrypted bytes in the buffer that are not delivered yet.
        private var decrypted = 0..<0
        /// The number of bytes in the buffer.
        private var count = 0

        init(_ guarded: BlobReader, _ key: AES256, _ initialVector: [UInt8], info: BlobInfo) {
            (self.guarded, self.key, self.previous, self.info) = (guarded, key, initialVector, info)
            self.restByteCount = (info.byteCount ?? 0) - guarded.byteOffset
        }

        deinit { self.buffer.deallocate() }

        func close() { self.guarded.close() }

        func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
            if self.decrypted.isEmpty, self.restByteCount > 0 { try self.fill() }
            let rest = self.decrypted.prefix(Int(clamping: self.restByteCount))
            guard !rest.isEmpty else { return .end }
            let count = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: self.buffer[rest]))
            self.decrypted = self.decrypted.dropFirst(count)
            self.restByteCount -= Int64(count)
            return .bytes
        }

        private func fill() throws {
            // The part of a block at the end of the buffer, which is not decrypted yet.
            let part = self.decrypted.upperBound..<self.count
            self.buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: self.buffer[part]))
            self.count = part.count
            while self.count < AES256.blockByteCount {
                let room = UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.count...])
                let more = try self.guarded.readWaiting(into: room)
                guard more > 0 else {
                    throw BlobError(.truncated, "The encrypted bytes end early.", byteOffset: self.guarded.byteOffset)
                }
                self.count += more
            }
            self.decrypted = 0..<(self.count / AES256.blockByteCount * AES256.blockByteCount)
            self.key.decrypt(
                UnsafeMutableRawBufferPointer(rebasing: self.buffer[self.decrypted]), after: &self.previous)
        }
    }
}
