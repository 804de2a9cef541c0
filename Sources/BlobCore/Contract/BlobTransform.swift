/// Bytes that are made from other bytes: a decoder, an encoder, decryption.
///
/// A value, or a final class around what cannot be copied. It does no I/O, and can be tested alone.
public protocol BlobTransform {
    /// Takes bytes from the front of `input`, and appends those that they make.
    ///
    /// - Parameters:
    ///   - input: At most 65,536 bytes. What is left comes again, with more bytes behind it.
    ///   - isLast: True when nothing comes after `input`: the base has checked its end.
    ///   - output: Has room for at least 4,096 bytes.
    /// - Returns: What the transform waits for. ``BlobStep/end`` only with `isLast` and no input left: a decoder that
    ///   is done earlier throws ``BlobError/Code/trailingData`` for more.
    /// - Throws: Any error. The bytes appended before it count, and are delivered first. A byte offset in it counts the
    ///   bytes of the base, whose locator the framework adds.
    mutating func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep

    /// Returns the info of the result, given the info of the base. Called once, before the first step.
    mutating func info(of base: BlobInfo) throws -> BlobInfo
}

/// The outcome of a step of a ``BlobTransform``.
public enum BlobStep: Sendable {
    /// It needs more bytes than it left, or none are left.
    case needsInput
    /// It needs room, and may make more bytes from what it has: the next step may get no input.
    case full
    /// All bytes were made.
    case end
}
