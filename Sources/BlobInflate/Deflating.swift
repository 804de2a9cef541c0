package import BlobStreams
internal import CZlib

/// Bytes as raw deflate data (RFC 1951), at zlib's fastest level.
///
/// - Throws: ``BlobError/Code/unavailable`` when there is no memory.
package func quicklyDeflated(_ bytes: [UInt8]) throws(BlobError) -> [UInt8] {
    var stream = z_stream()
    guard blob_deflate_init(&stream, 1, -15) == Z_OK else {
        throw BlobError(.unavailable, "There is no memory for the deflate encoder.")
    }
    defer { deflateEnd(&stream) }
    return [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, uLong(bytes.count)))) { output, count in
        bytes.withUnsafeBufferPointer { bytes in
            (stream.next_in, stream.avail_in) = (bytes.baseAddress, uInt(bytes.count))
            (stream.next_out, stream.avail_out) = (output.baseAddress, uInt(output.count))
            deflate(&stream, Z_FINISH)
            count = output.count - Int(stream.avail_out)
        }
    }
}
