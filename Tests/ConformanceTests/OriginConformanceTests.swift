import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import FileSource

/// Origins beside those of every day: descriptors, bound pairs, and origins that publish a state to be observed.
@Suite struct OriginConformanceTests {
    @Test(arguments: [0, 1, 65, 5000, 70_000])
    func aDescriptorAsThatOfStandardInputKeepsEveryContract(length: Int) async {
        let bytes = Data(makeContent(length))
        expectNone(await violations(of: try descriptorSource(bytes), expecting: bytes))
        expectNone(await violations(of: ReadAheadSource(try descriptorSource(bytes)), expecting: bytes))
    }

    @Test(arguments: [0, 1, 65, 5000, 70_000])
    func theInputOfABoundPairKeepsEveryContract(length: Int) async {
        let bytes = Data(makeContent(length))
        expectNone(await violations(of: pairSource(bytes), expecting: bytes))
        expectNone(await violations(of: pairSource(bytes).readingAhead(), expecting: bytes))
    }

    @Test(arguments: [0, 1, 65, 5000])
    func anOriginThatIsObservedKeepsEveryContract(length: Int) async {
        let bytes = Data(makeContent(length))
        expectNone(await violations(of: ObservedSource(bytes), expecting: bytes))
        expectNone(await violations(of: ReadAheadSource(ObservedSource(bytes)), expecting: bytes))
    }
}

/// The reading end of a pipe of the system, lent to its reader as standard input is.
@Sendable private func descriptorSource(_ bytes: Data) throws -> any BlobInputStreamDataSource {
    SequentialSource(layer: "descriptor", info: BlobInfo()) { _ in
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BlobError(systemError: errno, doing: "Could not make a pipe") }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        _ = signal(SIGPIPE, SIG_IGN)
        Thread.detachNewThread {
            bytes.withUnsafeBytes { bytes in
                var rest = bytes
                while !rest.isEmpty, case let count = write(writeEnd, rest.baseAddress, rest.count), count > 0 {
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                }
            }
            close(writeEnd)
        }
        let descriptor = try FileDescriptor(borrowing: readEnd, named: "pipe")
        return .stream(LentDescriptor(SequentialStream(descriptor, info: BlobInfo()), readEnd), startingAt: 0)
    }
}

/// Closes the descriptor that was lent, once the reader is closed.
private final class LentDescriptor: BlobByteStream {
    private let base: SequentialStream
    private let descriptor: CInt

    init(_ base: SequentialStream, _ descriptor: CInt) { (self.base, self.descriptor) = (base, descriptor) }

    var info: BlobInfo? { self.base.info }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.base.read(at: byteOffset, into: &output)
    }

    func close() {
        self.base.close()
        _ = Foundation.close(self.descriptor)
    }
}

/// The bytes that a thread writes to the output of a pair.
@Sendable private func pairSource(_ bytes: Data) -> any BlobInputStreamDataSource {
    InputStreamSource(isRepeatable: false) { boundInput(bytes) }
}

/// An origin of the key-value observing kind: publishes that it opened, that bytes came and that they ended.
private struct ObservedSource: BlobInputStreamDataSource {
    private let bytes: Data

    init(_ bytes: Data) { self.bytes = bytes }

    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.bytes.count)) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let info = self.describe(opening.context)
        try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        let state = BlobObservable(BlobReaderState())
        let waiting = Locked(Data())
        let isClosed = Locked(false)
        let rest = self.bytes.dropFirst(Int(opening.byteOffset))
        Thread.detachNewThread {
            state.update { $0.isOpenCompleted = true }
            for start in stride(from: rest.startIndex, to: rest.endIndex, by: 700) {
                guard !isClosed.withLock({ $0 }) else { return }
                waiting.withLock { $0 += rest[start..<min(start + 700, rest.endIndex)] }
                state.update { $0.hasBytesAvailable = true }
            }
            state.update { $0.isAtEnd = true }
        }
        return state.makeBody(startingAt: opening.byteOffset, info: info) { output in
            let isEmpty = waiting.withLock { waiting in
                let count = waiting.withUnsafeBytes { output.append(contentsOf: $0) }
                waiting = Data(waiting.dropFirst(count))
                return waiting.isEmpty
            }
            // Bytes that came in between are announced after this.
            guard isEmpty else { return }
            state.update { $0.hasBytesAvailable = waiting.withLock { !$0.isEmpty } }
        } close: {
            isClosed.withLock { $0 = true }
        }
    }
}
