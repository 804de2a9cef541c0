import BlobStreamsStandard
import Foundation
import LibraryRegistry

/// A stream delegate that computes the digest of the bytes.
final class ChecksumCalculator: NSObject, StreamDelegate {
    private var hasher = CryptoDigest.sha256.makeHasher()
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasBytesAvailable:
            guard let count = (stream as? InputStream)?.read(&self.buffer, maxLength: self.buffer.count), count > 0
            else {
                return
            }
            self.buffer[..<count].withUnsafeBytes { self.hasher.update($0) }
        case .endEncountered:
            print(self.hasher.finalizeHexadecimal())
            stream.close()
        case .errorOccurred:
            print("failed:", stream.streamError?.localizedDescription ?? "")
            stream.close()
        default: break
        }
    }
}

// Prints the SHA-256 digest of the locator on the command line, read by a delegate on a run loop without blocking.
let calculator = ChecksumCalculator()
let stream = try BlobInputStream(CommandLine.arguments[1], registry: .standardWithLibrary(), mode: .asynchronous)
stream.delegate = calculator
stream.schedule(in: .current, forMode: .default)
stream.open()
while stream.streamStatus != .closed {
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
}
