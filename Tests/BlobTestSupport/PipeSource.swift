package import BlobCore
package import Foundation

/// A source whose bytes pass by once: those of a pipe, which a thread of its own writes.
package func pipeSource(_ bytes: Data, info: BlobInfo = BlobInfo()) -> any BlobInputStreamDataSource {
    let pipe = BlobPipe(capacity: 1000, info: info)
    Thread.detachNewThread {
        try? pipe.write(bytes)
        pipe.finish()
    }
    return pipe.source
}
