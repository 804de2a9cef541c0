internal import BlobStreams

/// A library's state of decoding one deflate stream. Owned by one ``Inflater``.
protocol InflateEngine: AnyObject {
    /// Starts over, before the first byte of another stream.
    func reset()

    /// Starts at the beginning of a block in the middle of a stream.
    ///
    /// - Parameters:
    ///   - bits: The bits that are left of the byte in which the block begins, its lowest first.
    ///   - bitCount: How many they are, 0...7.
    ///   - window: What the stream says before the block, its last 32 KiB at most.
    func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer)

    /// Decodes until something stops it; see ``Inflater/decode(_:into:stoppingAtBlockEnds:)``.
    ///
    /// - Parameter appended: How many bytes were put into `output`, also when this throws.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, stoppingAtBlockEnds: Bool,
        appended: inout Int
    ) throws(BlobError) -> Inflater.Stop

    /// Where the block ended at which ``decode`` stopped.
    var blockEnd: Inflater.BlockEnd { get }

    /// Lends what the stream says before the end of that block, its last 32 KiB at most.
    func withWindow(_ body: (UnsafeRawBufferPointer) -> Void)

    /// The bytes that were taken behind the end of the stream and cannot be given back to the last input.
    var surplus: Inflater.Surplus { get }
}

/// A library that decodes.
package enum InflateLibrary: String, Sendable, CaseIterable {
    /// The reference, on every system.
    case zlib
    /// Intel's ISA-L: about three times as fast.
    case isal
}
