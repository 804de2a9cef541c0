import BlobStreamsStandard
import ExampleProgram
import Foundation

/// A delegate that copies a stream to standard output.
final class Copier: NSObject, StreamDelegate {
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    private(set) var error: (any Error)?

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasBytesAvailable:
            guard let count = (stream as? InputStream)?.read(&self.buffer, maxLength: self.buffer.count), count > 0
            else { return }
            FileHandle.standardOutput.write(Data(self.buffer[..<count]))
        case .errorOccurred:
            self.error = stream.streamError
            stream.close()
        case .endEncountered: stream.close()
        default: break
        }
    }
}

// Joins streams and locators into one InputStream, as NTVStreamMux does, with a heading before each part. Counts the
// bytes as HSCountingInputStream does, but without a subclass. A delegate on a run loop reads the stream.
ExampleProgram.run("JoinedStreams LOCATOR…", taking: 1...) { locators, registry in
    // The lengths of the parts need not be known. Any InputStream can be a part, created again for each pass.
    let parts = try locators.flatMap { locator -> [any BlobInputStreamDataSource] in
        let heading = Data("==> \(locator) <==\n".utf8)
        return [InputStreamSource { InputStream(data: heading) }, try registry.source(for: locator)]
    }
    let counted = ConcatenatedSource(parts).counting { count, byteOffset, _ in
        ExampleProgram.report("\(count) bytes, \(byteOffset) in total")
    }
    let stream = BlobInputStream(counted, mode: .asynchronous)
    let copier = Copier()
    stream.delegate = copier
    stream.schedule(in: .current, forMode: .default)
    stream.open()
    while stream.streamStatus != .closed {
        _ = RunLoop.current.run(mode: .default, before: .distantFuture)
    }
    if let error = copier.error { throw error }
}
