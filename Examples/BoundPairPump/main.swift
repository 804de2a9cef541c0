import BlobStreamsStandard
import Foundation

/// Pumps a source into an output stream, a piece whenever there is space, as the delegate of that stream.
///
/// For whoever wants an `InputStream`, such as the body of an HTTP request, while the bytes come from somewhere else.
final class Pump: NSObject, StreamDelegate {
    private let source: any BlobInputStreamDataSource
    private let output: BlobOutputStream
    private var reader: BlobGuardedReader?
    private var buffer = [UInt8](repeating: 0, count: 32 * 1024)
    private var piece = 0..<0  // What of the buffer is not written yet.
    private(set) var isDone = false

    init(_ source: any BlobInputStreamDataSource, into output: BlobOutputStream) {
        (self.source, self.output) = (source, output)
        super.init()
        output.delegate = self
        output.schedule(in: .current, forMode: .default)
        output.open()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        do {
            switch event {
            case .openCompleted: self.reader = try self.source.open()
            case .hasSpaceAvailable: try self.writeNextPiece()
            case .errorOccurred: self.finish()  // Nobody reads any more, and `output.streamError` tells why.
            default: break
            }
        } catch {
            self.finish(throwing: error)
        }
    }

    private func writeNextPiece() throws {
        if self.piece.isEmpty {
            self.piece = 0..<(try self.buffer.withUnsafeMutableBytes { try self.reader?.readWaiting(into: $0) } ?? 0)
        }
        if self.piece.isEmpty { return self.finish() }
        let count = self.output.write(Array(self.buffer[self.piece]), maxLength: self.piece.count)
        self.piece = self.piece.dropFirst(max(count, 0))
    }

    /// Without an error this is the end of what the input stream gives; with one, it fails there as well.
    private func finish(throwing error: (any Error)? = nil) {
        self.output.finish(throwing: error)
        self.reader?.close()
        self.isDone = true
    }
}

/// Prints the SHA-256 digest and the byte count of what an input stream gives.
func report(_ input: InputStream) {
    var (hasher, buffer, byteCount) = (CryptoDigest.sha256.makeHasher(), [UInt8](repeating: 0, count: 64 * 1024), 0)
    input.open()
    defer { input.close() }
    while case let count = input.read(&buffer, maxLength: buffer.count), count != 0 {
        guard count > 0 else { return print(input.streamError.map { "\($0)" } ?? "No more bytes.") }
        buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        byteCount += count
    }
    print(hasher.finalize().hexadecimal, byteCount)
}

// BoundPairPump file:///etc/hostname: here the run loop serves the pump, and another thread reads.
let pair = BoundStreamPair()
nonisolated(unsafe) let input = pair.input  // Streams may be used on any thread, which their class cannot say.
let isRead = DispatchSemaphore(value: 0)
Thread {
    report(input)
    isRead.signal()
}.start()
let pump = Pump(try BlobRegistry.standard.source(for: CommandLine.arguments[1]), into: pair.output)
while !pump.isDone, RunLoop.current.run(mode: .default, before: .distantFuture) {}
isRead.wait()
