import BlobStreamsStandard
import Foundation

/// A stream delegate that writes a source to the output of a pair, a piece whenever the output has space.
///
/// For APIs that take an `InputStream`, such as the body of an HTTP request, when the bytes come from somewhere else.
final class Pump: NSObject, StreamDelegate {
    private let source: any BlobInputStreamDataSource
    private let pair: BoundStreamPair
    private var reader: BlobGuardedReader?
    private var buffer = [UInt8](repeating: 0, count: 32 * 1024)
    private var piece = 0..<0  // The part of the buffer that is not written yet.
    private(set) var isDone = false

    init(_ source: any BlobInputStreamDataSource, into pair: BoundStreamPair) {
        (self.source, self.pair) = (source, pair)
        super.init()
        pair.output.delegate = self
        pair.output.schedule(in: .current, forMode: .default)
        pair.output.open()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        do {
            switch event {
            case .openCompleted: self.reader = try self.source.open()
            case .hasSpaceAvailable: try self.writeNextPiece()
            case .errorOccurred: self.finish()  // The input was closed; `pair.output.streamError` has the reason.
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
        let count = self.pair.output.write(Array(self.buffer[self.piece]), maxLength: self.piece.count)
        self.piece = self.piece.dropFirst(max(count, 0))
    }

    /// Ends the input stream: with an error if there is one, otherwise normally.
    private func finish(throwing error: (any Error)? = nil) {
        if let error { self.pair.finish(throwing: error) } else { self.pair.output.close() }
        self.reader?.close()
        self.isDone = true
    }
}

/// Prints the SHA-256 digest and the byte count of an input stream.
func report(_ input: InputStream) {
    var (hasher, buffer, byteCount) = (CryptoDigest.sha256.makeHasher(), [UInt8](repeating: 0, count: 64 * 1024), 0)
    input.open()
    defer { input.close() }
    while case let count = input.read(&buffer, maxLength: buffer.count), count != 0 {
        guard count > 0 else { return print(input.streamError.map { "\($0)" } ?? "No more bytes.") }
        buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        byteCount += count
    }
    print(hasher.finalizeHexadecimal(), byteCount)
}

// Usage: BoundPairPump file:///etc/hostname. The run loop of this thread drives the pump, and another thread reads.
let pair = BoundStreamPair()
nonisolated(unsafe) let input = pair.input  // Safe: streams may be used on any thread.
let isRead = DispatchSemaphore(value: 0)
Thread {
    report(input)
    isRead.signal()
}.start()
let pump = Pump(try BlobRegistry.standard.source(for: CommandLine.arguments[1]), into: pair)
while !pump.isDone, RunLoop.current.run(mode: .default, before: .distantFuture) {}
isRead.wait()
