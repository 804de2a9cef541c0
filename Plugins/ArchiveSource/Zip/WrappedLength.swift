import BlobCore
import BlobDeflate

/// The lengths and offsets from 4 GiB on that a writer without zip64, such as the archiver of macOS, gives modulo 2^32.
enum WrappedLength {
    static let modulus: Int64 = 1 << 32
    /// The maximum ratio of deflate.
    private static let maximumRatio: Int64 = 1032
    /// The number of compressed bytes that are decoded for an estimate, at most 4 MiB of bytes.
    private static let sampleByteCount: Int64 = 4096

    /// Returns true when the member is likely to be longer than the directory says: then its length is not known before
    /// its end, where it must agree modulo 2^32, and the checksum must be right.
    ///
    /// A member that is likely to be as long keeps its length, and is refused when it turns out to be longer.
    static func isLikely(of found: ZipSearch.Found) throws(BlobError) -> Bool {
        let entry = found.entry
        guard ZipStream.Method(rawValue: entry.method) == .deflated, entry.encryption == nil, !entry.hasZip64Field,
            entry.byteCount / Self.modulus == 0,
            (entry.byteCount + Self.modulus) / Self.maximumRatio < entry.compressedByteCount
        else { return false }
        // Deflate adds a few bytes to each block at most.
        if entry.compressedByteCount > entry.byteCount + entry.byteCount / 64 + 1024 { return true }
        let ratio = try Self.sampledRatio(of: found)
        return Double(entry.compressedByteCount) * ratio > Double(entry.byteCount + Self.modulus / 2)
    }

    /// Returns how many bytes each of the first compressed bytes makes; 1 for damaged ones.
    private static func sampledRatio(of found: ZipSearch.Found) throws(BlobError) -> Double {
        let sample = try found.scanner.bytes(
            at: found.data.lowerBound, count: Int(min(Self.sampleByteCount, Int64(found.data.count))))
        var (rest, decodedCount) = (sample, 0)
        var inflater = try Inflater()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            guard let isDone = try? inflater.decode(&rest, into: &output) else { return 1 }
            let count = output.finalize(for: buffer)
            decodedCount += count
            if isDone || count == 0 { return Double(decodedCount) / Double(max(sample.count - rest.count, 1)) }
        }
    }
}
