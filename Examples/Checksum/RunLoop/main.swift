import BlobStreamsStandard
import ExampleProgram
import Foundation

/// A stream delegate that computes the digest of the bytes.
final class ChecksumCalculator: NSObject, StreamDelegate {
    private var hasher = CryptoDigest.sha256.makeHasher()
    private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    private(set) var result: Result<String, any Error>?

    func stream(_ stream: Stream, handle event: Stream.Event) {
        switch event {
        case .hasBytesAvailable:
            guard let count = (stream as? InputStream)?.read(&self.buffer, maxLength: self.buffer.count), count > 0
            else { return }
            self.buffer[..<count].withUnsafeBytes { self.hasher.update($0) }
        case .endEncountered:
            self.result = .success(self.hasher.finalizeHexadecimal())
            stream.close()
        case .errorOccurred:
            self.result = .failure(stream.streamError ?? BlobError(.io, "The stream failed."))
            stream.close()
        default: break
        }
    }
}

// Prints the SHA-256 digest of a locator from an offset on. A delegate on a run loop reads without blocking.
ExampleProgram.run("RunLoopChecksum [--offset BYTES] LOCATOR", taking: 1...3) { arguments, registry in
    let offset =
        arguments.count == 1 ? 0 : arguments.count == 3 && arguments[0] == "--offset" ? Int64(arguments[1]) : nil
    guard let offset else {
        throw BlobError(
            .invalidArgument, "--offset must come before the locator, and be followed by a number of bytes.")
    }
    let calculator = ChecksumCalculator()
    let stream = try BlobInputStream(arguments[arguments.count - 1], registry: registry, mode: .asynchronous)
    guard offset == 0 || stream.setProperty(NSNumber(value: offset), forKey: .fileCurrentOffsetKey) else {
        throw BlobError(.invalidArgument, "The stream cannot start at byte \(offset).")
    }
    stream.delegate = calculator
    stream.schedule(in: .current, forMode: .default)
    stream.open()
    while stream.streamStatus != .closed {
        _ = RunLoop.current.run(mode: .default, before: .distantFuture)
    }
    if let result = calculator.result { print(try result.get()) }
}
