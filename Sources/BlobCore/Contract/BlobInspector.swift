/// A look at bytes that pass unchanged: a limit, a digest, a count, a slice.
public protocol BlobInspector {
    /// Returns the info of the bytes that pass; by default the info of the base. Called again when a length is learnt
    /// late.
    mutating func info(of base: BlobInfo) throws -> BlobInfo

    /// Returns how many bytes may pass next; by default any number.
    mutating func room() throws -> BlobRoom

    /// Looks at the next bytes of the base, and returns the range of those that pass: those before it are dropped, and
    /// when bytes are left out behind it, that is the end. An empty range drops all of them.
    ///
    /// - Parameters:
    ///   - bytes: At least one byte; none when `isLast`.
    ///   - byteOffset: The offset of the first of them in the base.
    ///   - isLast: True once, at the end of the base, which has checked it.
    /// - Throws: Any error; then none of the bytes counts.
    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int>

    /// Returns an error of the base as this layer reports it; by default the same.
    func reported(_ error: BlobError) -> BlobError
}

/// The number of bytes that may pass a ``BlobInspector``.
public enum BlobRoom: Sendable {
    /// At most this many bytes, at least one.
    case bytes(Int64)
    /// None: this is the end. The base is not read to its own.
    case end
    /// None before this instant.
    case wait(until: ContinuousClock.Instant)
}

extension BlobInspector {
    /// Returns the info of the base.
    public mutating func info(of base: BlobInfo) throws -> BlobInfo { base }

    /// Returns room for any number of bytes.
    public mutating func room() throws -> BlobRoom { .bytes(.max) }

    /// Returns the error.
    public func reported(_ error: BlobError) -> BlobError { error }
}
