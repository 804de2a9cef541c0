internal import BlobCore

/// The decoding state of one deflate stream in a library. Owned by one ``Inflater``.
protocol InflateEngine: AnyObject {
    /// Resets the state for another stream.
    func reset()

    /// Resumes at the start of a block in the middle of a stream.
    ///
    /// - Parameters:
    ///   - bits: The remaining bits of the byte in which the block begins, the lowest first.
    ///   - bitCount: The number of those bits, 0...7.
    ///   - window: The decoded bytes before the block, at most the last 32 KiB.
    func resume(bits: UInt8, bitCount: Int, window: UnsafeRawBufferPointer)

    /// Decodes up to the next ``Inflater/Stop``; see ``Inflater/decode(_:into:stoppingAtBlockEnds:)``.
    ///
    /// - Parameter appended: Set to the number of bytes written to `output`, even if this method throws.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, stoppingAtBlockEnds: Bool,
        appended: inout Int
    ) throws(BlobError) -> Inflater.Stop

    /// The end of the block at which ``decode`` stopped.
    var blockEnd: Inflater.BlockEnd { get }

    /// Calls `body` with the decoded bytes before ``blockEnd``, at most the last 32 KiB.
    func withWindow(_ body: (UnsafeRawBufferPointer) -> Void)

    /// The bytes consumed past the end of the stream that cannot be returned to the last input.
    var surplus: Inflater.Surplus { get }
}

/// A library that decodes deflate data.
package enum InflateLibrary: String, Sendable, CaseIterable {
    /// zlib, the reference implementation, available on every system.
    case zlib
    /// Intel's ISA-L, about three times as fast as zlib; loaded when first needed.
    case isal

    /// The libraries found on this system, the fastest first.
    package static let available: [InflateLibrary] = ISALEngine.isLoaded ? [.isal, .zlib] : [.zlib]
}
