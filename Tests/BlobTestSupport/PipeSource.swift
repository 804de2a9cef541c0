package import BlobCore
package import Foundation

/// A source whose bytes pass by once: those of a pipe, which a thread of its own writes from the opening on.
package func pipeSource(_ bytes: Data, info: BlobInfo = BlobInfo()) -> any BlobInputStreamDataSource {
    PipeSource(bytes: bytes, pipe: BlobPipe(capacity: 1000, info: info))
}

private struct PipeSource: ForwardingSource {
    let bytes: Data
    let pipe: BlobPipe

    var base: any BlobInputStreamDataSource { self.pipe.source }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let body = try self.base.makeBody(opening)
        // Ends with the reader: without one, it would wait for room in vain.
        Thread.detachNewThread { [bytes, pipe] in
            try? pipe.write(bytes)
            pipe.finish()
        }
        return body
    }
}
