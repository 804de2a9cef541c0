public import Foundation

/// The base class of ``BlobOutputStream``, with the initializers that differ between platforms: on Linux,
/// `init(toMemory:)` is required of every `OutputStream`.
open class BlobOutputStreamBase: OutputStream {
    let engine: BlobOutputEngine

    init(_ engine: BlobOutputEngine) {
        self.engine = engine
        super.init(toMemory: ())
        engine.face = self as? BlobOutputStream
    }

    #if !canImport(Darwin)
        /// Creates a stream without a reader: every write fails with ``BlobError/Code/closed``.
        public required init(toMemory: ()) {
            self.engine = BlobOutputEngine()
            super.init(toMemory: ())
            self.engine.face = self as? BlobOutputStream
        }
    #endif
}
