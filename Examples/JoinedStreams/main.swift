import BlobStreamsStandard
import Foundation

// Joins streams and files to one InputStream, as NTVStreamMux does, for a delegate on a run loop: JoinedStreams FILE…
final class Copier: NSObject, StreamDelegate {
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasBytesAvailable:
            guard let count = (stream as? InputStream)?.read(&self.buffer, maxLength: self.buffer.count), count > 0
            else {
                return
            }
            FileHandle.standardOutput.write(Data(self.buffer[..<count]))
        case .errorOccurred:
            print("failed:", stream.streamError?.localizedDescription ?? "")
            stream.close()
        case .endEncountered: stream.close()
        default: break
        }
    }
}

// Each part says what it is, then comes the file; the parts need not know their lengths.
let parts = CommandLine.arguments.dropFirst().flatMap { path -> [any BlobInputStreamDataSource] in
    [
        InputStreamSource { InputStream(data: Data("==> \(path) <==\n".utf8)) },
        FileSource(path: path),
    ]
}
let stream = BlobInputStream(ConcatenatedSource(parts), mode: .asynchronous)
let copier = Copier()
stream.delegate = copier
stream.schedule(in: .current, forMode: .default)
stream.open()
while stream.streamStatus != .closed {
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
}
