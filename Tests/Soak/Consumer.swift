import BlobStreamsStandard
import BlobTestSupport
import Foundation

/// The ways in which a job reads.
enum Consumer: CaseIterable {
    case reader, chunks, data, file, synchronousStream, asynchronousStream, seekingStream

    /// True when the whole blob is read, whatever the offset.
    var readsFromStart: Bool { self == .data || self == .file }

    /// Reads a source to its end, which `checker` checks byte by byte.
    ///
    /// - Parameters:
    ///   - scratch: The path of a file that may be written.
    ///   - onBytes: Called with the number of bytes so far.
    func read(
        _ source: any BlobInputStreamDataSource, _ checker: inout Checker, _ context: BlobContext, scratch: String,
        using random: inout SplitMix64, _ onBytes: (Int) -> Void
    ) throws {
        let pieceByteCount = 1 << Int.random(in: 6...18, using: &random)
        onBytes(0)
        switch self {
        case .reader: try self.readReader(source, &checker, context, pieceByteCount, onBytes)
        case .chunks:
            let (start, taken) = (Int64(checker.byteOffset), Locked(checker))
            try waitForTask {
                for try await chunk in source.chunks(ofAtMost: pieceByteCount, at: start, context: context) {
                    try taken.withLock { try $0.take(chunk) }
                }
            }
            checker = taken.withLock { $0 }
        case .data: try checker.take(try source.data(upTo: 1 << 24, context: context))
        case .file:
            defer { unlink(scratch) }
            try source.write(to: URL(fileURLWithPath: scratch), context: context)
            try checker.take(try Data(contentsOf: URL(fileURLWithPath: scratch)))
        case .synchronousStream, .asynchronousStream, .seekingStream:
            try self.readStream(source, &checker, context, pieceByteCount, using: &random, onBytes)
        }
        try checker.end()
    }

    private func readReader(
        _ source: any BlobInputStreamDataSource, _ checker: inout Checker, _ context: BlobContext,
        _ pieceByteCount: Int, _ onBytes: (Int) -> Void
    ) throws {
        let reader = try source.open(at: Int64(checker.byteOffset), context: context)
        defer { reader.close() }
        while case let piece = try Data(readingAtMost: pieceByteCount, from: reader), !piece.isEmpty {
            try checker.take(piece)
            onBytes(checker.byteCount)
        }
    }

    private func readStream(
        _ source: any BlobInputStreamDataSource, _ checker: inout Checker, _ context: BlobContext,
        _ pieceByteCount: Int, using random: inout SplitMix64, _ onBytes: (Int) -> Void
    ) throws {
        let stream = BlobInputStream(
            source, mode: self == .synchronousStream ? .synchronous : .asynchronous, context: context)
        defer { stream.close() }
        stream.control.setOffset(Int64(checker.byteOffset))
        stream.open()
        var buffer = [UInt8](repeating: 0, count: pieceByteCount)
        var seekCount = self == .seekingStream ? 3 : 0
        while case let count = stream.read(&buffer, maxLength: buffer.count), count != 0 {
            guard count > 0 else { throw stream.streamError ?? WrongBytes(description: "-1 without an error") }
            try checker.take(buffer[..<count])
            onBytes(checker.byteCount)
            guard seekCount > 0 else { continue }
            seekCount -= 1
            let target = Int.random(in: 0...checker.byteOffset, using: &random)
            if stream.control.setOffset(Int64(target)) { checker.move(to: target) }
        }
    }
}

/// Runs a task, and waits for it on a thread that may block.
private func waitForTask(_ body: @escaping @Sendable () async throws -> Void) throws {
    let result = Locked(Result<Void, any Error>.success(()))
    let signal = WaitSignal()
    Task {
        do { try await body() } catch { result.withLock { $0 = .failure(error) } }
        signal.signal()
    }
    _ = signal.wait(for: nil)
    try result.withLock { try $0.get() }
}
