import BlobStreamsStandard
import ExampleProgram
import Foundation

/// A stream delegate that writes a source to the output of a pair in pieces, whenever the output has space.
final class Pump: NSObject, StreamDelegate {
    private let source: any BlobInputStreamDataSource
    private let pair: BoundStreamPair
    private var reader: BlobReader?
    private var buffer = [UInt8](repeating: 0, count: 32 * 1024)
    private var piece = 0..<0  // The part of the buffer that is not yet written.
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
            case .errorOccurred: self.finish()  // The input was closed; `pair.output.streamError` states the reason.
            default: break
            }
        } catch {
            self.finish(throwing: error)
        }
    }

    private func writeNextPiece() throws {
        if self.piece.isEmpty {
            self.piece = 0..<(try self.buffer.withUnsafeMutableBytes { try self.reader?.readBlocking(into: $0) } ?? 0)
        }
        if self.piece.isEmpty { return self.finish() }
        let count = self.pair.output.write(Array(self.buffer[self.piece]), maxLength: self.piece.count)
        self.piece = self.piece.dropFirst(max(count, 0))
    }

    /// Ends the input stream with the given error, or normally if the error is nil.
    private func finish(throwing error: (any Error)? = nil) {
        if let error { self.pair.finish(throwing: error) } else { self.pair.output.close() }
        self.reader?.close()
        self.isDone = true
    }
}

// Posts a locator with URLSession. The body is the input of a bound pair, which the run loop of this thread fills.
ExampleProgram.run("BoundPairPump LOCATOR URL", taking: 2...2) { arguments, registry in
    let source = try registry.source(for: arguments[0])
    let pair = BoundStreamPair()
    var request = URLRequest(url: try ExampleProgram.serverURL(arguments[1]))
    request.httpMethod = "POST"
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
    request.httpBodyStream = pair.input
    let upload = try StreamedUpload(request)
    let pump = Pump(source, into: pair)
    while !pump.isDone, RunLoop.current.run(mode: .default, before: .distantFuture) {}
    print(try upload.answer())
}
