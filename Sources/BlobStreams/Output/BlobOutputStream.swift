package import Foundation

/// The output stream of a ``BoundStreamPair``, where its contract is described.
package final class BlobOutputStream: OutputStream, StreamDelegate {
    let engine: BlobOutputEngine

    init(_ engine: BlobOutputEngine) {
        self.engine = engine
        super.init(toMemory: ())
        engine.outputStream = self
    }

    #if !canImport(Darwin)
        /// Creates a stream without a reader, which is required of every `OutputStream` on Linux: every write fails
        /// with ``BlobError/Code/closed``.
        package required init(toMemory: ()) {
            self.engine = BlobOutputEngine()
            super.init(toMemory: ())
            self.engine.outputStream = self
        }
    #endif

    deinit {
        let error = BlobError(.truncated, "The output stream was released before it was closed.", operation: "write")
        self.engine.finish(error, evenUnopened: true)
    }

    /// Ends the bytes with an error and closes the stream, in any phase, also before opening.
    ///
    /// - Parameter error: The error that the reader receives after the bytes written so far. Ignored after the stream
    ///   was closed or failed.
    package func finish(throwing error: any Error) {
        self.engine.finish(BlobError(wrapping: error), evenUnopened: true)
    }

    /// The state of the stream, which may be read and observed on any thread.
    package var state: BlobObservable<BlobOutputStreamState> { self.engine.state }

    // MARK: OutputStream

    package override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.write(UnsafeRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    package override var hasSpaceAvailable: Bool { self.engine.hasSpaceAvailable }

    // MARK: Stream

    package override func open() { self.engine.open() }

    package override func close() { self.engine.finish(nil, evenUnopened: false) }

    package override var streamStatus: Stream.Status { self.engine.status }

    package override var streamError: (any Error)? { self.engine.error }

    package override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    package override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    package override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// Returns the number of bytes written so far for `.fileCurrentOffsetKey`; nil for every other key.
    package override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        key == .fileCurrentOffsetKey ? NSNumber(value: self.engine.state.value.byteOffset) : nil
    }

    /// Does nothing: the stream cannot seek.
    ///
    /// - Returns: False.
    package override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool { false }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set.
    package func stream(_ stream: Stream, handle event: Stream.Event) {}
}
