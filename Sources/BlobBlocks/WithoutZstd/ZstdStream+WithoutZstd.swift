package import BlobCore

/// A decoder of Zstandard frames with large windows; this build has no libzstd.
package final class ZstdStream {
    package let isBetweenFrames = true

    package init?(_ context: BlobContext) throws(BlobError) { return nil }

    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) {}
}
