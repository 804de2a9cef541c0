import BlobStreams
import BlobTestSupport
import Foundation

/// An event-driven stream that the test plays; a source of itself, for one opening.
final class PlayedStream: BlobByteStream, BlobInputStreamDataSource {
    typealias State = BlobObservable<BlobReaderState>

    let state: State
    private let facts: BlobInfo
    private let slot = BlobWakerSlot()
    /// How many bytes each read brought.
    let reads = Recorder<Int>()
    let closes = Recorder<Bool>()
    private let bytes = Locked<[UInt8]>([])
    private let looks = Locked(0)
    private let observation: BlobRegistration
    private let onLook: @Sendable (_ count: Int, State) -> Void
    private let onRead: @Sendable (State) -> Void

    /// - Parameters:
    ///   - onLook: Called at each read, before it looks at its bytes, with the count from 1.
    ///   - onRead: Called in the end of each read.
    init(
        _ state: BlobReaderState = BlobReaderState(isOpenCompleted: true), info: BlobInfo = BlobInfo(),
        onLook: @escaping @Sendable (_ count: Int, State) -> Void = { _, _ in },
        onRead: @escaping @Sendable (State) -> Void = { _ in }
    ) {
        self.state = State(state)
        self.facts = info
        self.observation = self.state.observe(\.self) { [slot] _ in slot.fire() }
        self.onLook = onLook
        self.onRead = onRead
    }

    func push(_ bytes: [UInt8]) {
        self.bytes.withLock { $0 += bytes }
        self.state.update { $0.hasBytesAvailable = true }
    }

    var info: BlobInfo? { self.state.value.isOpenCompleted || self.state.value.isReady ? self.facts : nil }
    var neverBlocks: Bool { true }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let count = self.looks.withLock { looks in
            looks += 1
            return looks
        }
        self.onLook(count, self.state)
        let before = self.state.value
        let bytes = self.bytes.withLock { bytes in
            defer { bytes = Array(bytes.dropFirst(output.freeCapacity)) }
            return bytes.prefix(output.freeCapacity)
        }
        bytes.withUnsafeBytes { _ = output.append(contentsOf: $0) }
        self.state.update { $0.hasBytesAvailable = self.bytes.withLock { !$0.isEmpty } }
        self.reads.append(bytes.count)
        self.onRead(self.state)
        if !bytes.isEmpty { return .bytes }
        if let error = before.error { throw error }
        return before.isAtEnd ? .end : .notYet
    }

    func close() { self.closes.append(true) }

    var traits: BlobTraits { [] }
    func describe(_ context: BlobContext) -> BlobInfo { self.facts }
    func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(self, startingAt: opening.byteOffset) }
}
