import BlobStreams
import BlobTestSupport
import Foundation

/// An event-driven reader that the test plays; a source of itself, for one opening.
final class PlayedReader: BlobPluginReader, BlobInputStreamDataSource {
    typealias State = BlobObservable<BlobReaderState>

    let info: BlobInfo
    let state: State
    /// How many bytes each read brought.
    let reads = Recorder<Int>()
    let closes = Recorder<Bool>()
    private let bytes = Locked<[UInt8]>([])
    private let looks = Locked(0)
    private let observation = Locked<BlobRegistration?>(nil)
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
        self.info = info
        self.onLook = onLook
        self.onRead = onRead
    }

    func push(_ bytes: [UInt8]) {
        self.bytes.withLock { $0 += bytes }
        self.state.update { $0.hasBytesAvailable = true }
    }

    var isOpen: Bool { self.state.value.isOpenCompleted || self.state.value.isReady }
    var neverBlocks: Bool { true }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
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

    func whenReadable(_ waker: BlobWaker) {
        let state = self.state
        let observation = state.observe(\.self, options: [.initial]) { _ in if state.value.isReady { waker.wake() } }
        self.observation.withLock { $0 = observation }
    }

    func close() { self.closes.append(true) }

    var traits: BlobTraits { [] }
    func describe(_ context: BlobContext) -> BlobInfo { self.info }
    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext)
        -> any BlobPluginReader
    {
        self
    }
}
