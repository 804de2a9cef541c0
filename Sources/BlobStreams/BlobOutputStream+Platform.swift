import Foundation

/// How a ``BlobOutputStream`` is made, which is different on Linux, and nothing else: `init(toMemory:)` is required
/// of every `OutputStream` there.
open class BlobOutputStreamBase: OutputStream {
    let engine: BlobOutputEngine

    init(_ engine: BlobOutputEngine) {
        self.engine = engine
        super.init(toMemory: ())
        engine.face = self as? BlobOutputStream
    }

    #if !canImport(Darwin)
        /// A stream that nobody reads: every write fails as ``BlobError/Code/closed``.
        public required init(toMemory: ()) {
            self.engine = BlobOutputEngine()
            super.init(toMemory: ())
            self.engine.face = self as? BlobOutputStream
        }
    #endif
}
