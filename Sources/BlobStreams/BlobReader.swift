import Foundation

/// One pass over the bytes of a ``BlobInputStreamDataSource``.
///
/// Has one owner, who makes one call at a time, on any thread. No lock is needed inside.
///
/// A reader blocks until it has bytes, or it is event-driven: then it publishes ``readiness`` and never blocks. Plugins
/// implement this; users get theirs from ``BlobInputStreamDataSource/reader(at:matching:context:)``, which guards it.
public protocol BlobReader: AnyObject {
    /// What is known of exactly the bytes that are being read. An event-driven reader may learn it while it opens.
    var info: BlobInfo { get }

    /// Reads the next bytes of the blob.
    ///
    /// May append fewer bytes than fit. Appending nothing means the end; in an event-driven reader it does so only when
    /// its state says `isAtEnd`, and otherwise means that nothing is there for now.
    ///
    /// - Parameter output: Has room. Appended to from the front; not kept after the call.
    /// - Throws: ``BlobError`` or any other error, which is wrapped; then no byte of the call counts, and every later
    ///   read throws the same error.
    func read(into output: inout OutputRawSpan) throws

    /// The state of an event-driven reader; nil, the default, for one that blocks. The same object all its life.
    var readiness: BlobObservable<BlobReaderState>? { get }

    /// The value of a stream property that this reader knows, otherwise nil, the default.
    func property(forKey key: Stream.PropertyKey) -> Any?

    /// Sets a stream property.
    ///
    /// - Returns: False, the default, when the reader does not know the key or refuses the value.
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool

    /// Frees what the reader holds. Called by the owner once no read runs; later calls do nothing.
    func close()
}

extension BlobReader {
    /// Nil: reads block.
    public var readiness: BlobObservable<BlobReaderState>? { nil }

    /// Nil: no property is known.
    public func property(forKey key: Stream.PropertyKey) -> Any? { nil }

    /// False: no property can be set.
    public func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool { false }

    /// Reads the next bytes into memory that the caller owns.
    ///
    /// - Parameter buffer: Where the bytes go, from the front; an empty one reads nothing.
    /// - Returns: How many bytes were read; 0 with room in the buffer is what appending nothing is to
    ///   ``read(into:)-(OutputRawSpan)``.
    /// - Throws: As the other form.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        guard !buffer.isEmpty else { return output.finalize(for: buffer) }
        try self.read(into: &output)
        return output.finalize(for: buffer)
    }
}
