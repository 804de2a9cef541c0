import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

/// A delegate may call anything of its stream, in each event: nothing waits for what the delegate holds up.
@Suite(.timeLimit(.minutes(120))) struct DelegateReentryTests {
    @Test(arguments: [BlobStreamMode.synchronous, .asynchronous], DelegateCall.allCases)
    func aDelegateMayCallAnythingOfItsStream(_ mode: BlobStreamMode, _ call: DelegateCall) async throws {
        let rounds = environmentNumber("BLOBSTREAMS_ROUNDS").map { $0 / 100 } ?? 2
        let makers = try await StreamMaker.all(TemporaryFolder())
        try await onThread {
            for _ in 0..<rounds {
                for maker in makers {
                    for event in Life.events { try Life(maker, mode, event, call).run() }
                }
            }
        }
    }
}

/// A call that a delegate makes on its stream.
enum DelegateCall: CaseIterable, Sendable {
    case nothing, readByte, readAll, lend, status, property, setForeignProperty, offset, seekBack, seekOn, seekToEnd
    case open, close, copy, cancel, observe, scheduleAgain, scheduleElsewhere, remove, removeAndSchedule
    case becomeNobody, becomeAnother, runTheRunLoop

    /// Whether all bytes still come, once and in order.
    var leavesTheBytesAlone: Bool {
        switch self {
        case .seekBack, .seekOn, .seekToEnd, .close, .cancel, .open: false
        default: true
        }
    }

    /// Whether events may stay away afterwards.
    var endsEvents: Bool {
        switch self {
        case .close, .remove, .becomeNobody, .becomeAnother: true
        default: false
        }
    }
}

/// One stream from its opening to its end, on the run loop of this thread.
private final class Life: NSObject, StreamDelegate {
    static let events: [Stream.Event] = [.openCompleted, .hasBytesAvailable, .endEncountered, .errorOccurred]
    private static let otherMode = RunLoop.Mode("another mode")
    private static let color = Stream.PropertyKey(rawValue: "color")

    private let maker: StreamMaker
    private let event: Stream.Event
    private let call: DelegateCall
    private let context = BlobContext()
    private let stream: BlobInputStream
    private let another = NobodyDelegate()
    private var tokens: [BlobRegistration] = []
    private var bytes: [UInt8] = []
    private var callCount = 0
    private var isOver = false

    init(_ maker: StreamMaker, _ mode: BlobStreamMode, _ event: Stream.Event, _ call: DelegateCall) throws {
        (self.maker, self.event, self.call) = (maker, event, call)
        self.stream = try maker.make(mode, self.context)
        super.init()
        self.stream.delegate = self
    }

    func run() {
        self.stream.schedule(in: .current, forMode: .default)
        self.stream.open()
        let end = ContinuousClock.now + .seconds(60)
        while !self.isOver, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60)) {
            guard ContinuousClock.now < end else {
                Issue.record("No event ends \(self.maker.name), of which \(self.call) was called in \(self.event).")
                return
            }
        }
        // Without events the bytes are still there.
        self.read(all: true)
        if self.call.leavesTheBytesAlone, !self.maker.fails {
            #expect(self.bytes == StreamMaker.bytes, "\(self.maker.name), \(self.call) in \(self.event)")
            #expect(self.stream.streamStatus == .atEnd)
        }
        self.stream.close()
        self.stream.close()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
        self.callCount += event == self.event ? 1 : 0
        // One that always makes another change would never be done.
        if event == self.event, self.callCount <= 3 { self.perform() }
        switch event {
        case .hasBytesAvailable: self.read(all: false)
        // Bytes may come again after the end, if the call went back.
        case .endEncountered: self.isOver = self.stream.streamStatus == .atEnd || self.isOver
        case .errorOccurred: self.isOver = true
        default: break
        }
        if self.stream.streamStatus == .closed { self.isOver = true }
    }

    private func read(all: Bool) {
        var buffer = [UInt8](repeating: 0, count: 7)
        var count = 0
        repeat {
            count = self.stream.read(&buffer, maxLength: buffer.count)
            self.bytes += buffer.prefix(max(count, 0))
        } while all && count > 0
    }

    private func perform() {
        switch self.call {
        case .nothing: break
        case .readByte:
            var byte: UInt8 = 0
            if self.stream.read(&byte, maxLength: 1) == 1 { self.bytes.append(byte) }
        case .readAll: self.read(all: true)
        case .lend:
            var (buffer, length) = (UnsafeMutablePointer<UInt8>?.none, 0)
            if self.stream.getBuffer(&buffer, length: &length) {
                let lent = Array(UnsafeBufferPointer(start: buffer, count: length))
                #expect(StreamMaker.bytes.dropFirst(self.bytes.count).starts(with: lent))
            }
        case .status:
            _ = (self.stream.streamStatus, self.stream.streamError, self.stream.hasBytesAvailable)
            _ = (self.stream.state.value, self.stream.delegate)
        case .property: _ = self.stream.property(forKey: Self.color)
        case .setForeignProperty: _ = self.stream.setProperty(NSNumber(value: 1), forKey: Self.color)
        case .offset: _ = self.stream.property(forKey: .fileCurrentOffsetKey)
        case .seekBack: self.setOffset(0)
        case .seekOn: self.setOffset(Int64(self.bytes.count + 3))
        case .seekToEnd: self.setOffset(Int64(StreamMaker.bytes.count))
        case .open: self.stream.open()
        case .close: self.stream.close()
        case .copy: self.stream.unopenedCopy().close()
        case .cancel: self.context.cancellation.cancel()
        case .observe: self.tokens.append(self.stream.state.observe(\.self, options: [.initial]) { _ in })
        case .scheduleAgain: self.stream.schedule(in: .current, forMode: .default)
        case .scheduleElsewhere: self.stream.schedule(in: .current, forMode: Self.otherMode)
        case .remove: self.stream.remove(from: .current, forMode: .default)
        case .removeAndSchedule:
            self.stream.remove(from: .current, forMode: .default)
            self.stream.schedule(in: .current, forMode: .default)
        case .becomeNobody: self.stream.delegate = nil
        case .becomeAnother: self.stream.delegate = self.another
        case .runTheRunLoop: _ = RunLoop.current.run(mode: .default, before: Date())
        }
        if self.call.endsEvents { self.isOver = true }
    }

    private func setOffset(_ offset: Int64) {
        _ = self.stream.setProperty(NSNumber(value: offset), forKey: .fileCurrentOffsetKey)
    }
}

/// A delegate that does nothing.
private final class NobodyDelegate: NSObject, StreamDelegate {}

/// A way to make a stream with the same few bytes.
struct StreamMaker: Sendable {
    static let bytes = makeContent(20)

    let name: String
    var fails = false
    let make: @Sendable (BlobStreamMode, BlobContext) throws -> BlobInputStream

    private init(
        _ name: String, fails: Bool = false, _ source: @escaping @Sendable () throws -> any BlobInputStreamDataSource
    ) {
        self.name = name
        self.fails = fails
        self.make = { mode, context in BlobInputStream(try source(), mode: mode, context: context) }
    }

    private init(_ name: String, make: @escaping @Sendable (BlobStreamMode, BlobContext) throws -> BlobInputStream) {
        self.name = name
        self.make = make
    }

    static func all(_ folder: TemporaryFolder) async throws -> [StreamMaker] {
        let data = Data(self.bytes)
        let memory = MemorySource(data)
        let gzip = try await GzipEncodedSource(memory).data(upTo: 1000)
        let path = try folder.file(data)
        let gzipPath = try folder.file(gzip)
        let unknown = ClosureSource { byteOffset, output, _ in
            _ = data.dropFirst(Int(byteOffset)).prefix(6).withUnsafeBytes { output.append(contentsOf: $0) }
        }
        return [
            StreamMaker("memory") { memory },
            StreamMaker("nothing to random access") { FaultSource(memory, .half) },
            StreamMaker("closure") { unknown },
            StreamMaker("read-ahead") { ReadAheadSource(unknown, windowByteCounts: 3...5) },
            StreamMaker("drip") { DripSource(memory, pieceByteCount: 6) },
            StreamMaker("pipe") { pipeSource(data) },
            StreamMaker("file") { FileSource(path: path) },
            StreamMaker("FIFO") { FileSource(path: try folder.fifo(data)) },
            StreamMaker("gzip over a drip") { GzipSource(DripSource(MemorySource(gzip), pieceByteCount: 9)) },
            StreamMaker("gzip over a file") { GzipSource(FileSource(path: gzipPath)) },
            StreamMaker("drip and file") {
                ConcatenatedSource([
                    DripSource(memory, pieceByteCount: 4).slice(0..<9),
                    FileSource(path: path).slice(9...),
                ])
            },
            StreamMaker("sequence") { AsyncSequenceSource(isRepeatable: true, chunks: { memory.chunks(ofAtMost: 6) }) },
            StreamMaker("input stream") { InputStreamSource { InputStream(data: data) } },
            StreamMaker("bound pair", make: { _, context in boundInput(data, context) }),
            StreamMaker("failure", fails: true) { FaultSource(memory, .fail(at: 10)) },
            StreamMaker("failing drip", fails: true) {
                DripSource(FaultSource(memory, .fail(at: 10)), pieceByteCount: 6)
            },
            StreamMaker("failure to open", fails: true) { FileSource(path: path + ".gone") },
        ]
    }
}

/// The input of a pair that a thread writes to.
func boundInput(_ bytes: Data, _ context: BlobContext = BlobContext()) -> BlobInputStream {
    let pair = BoundStreamPair(capacity: 1000, context: context)
    let output = UnsafeTransfer(pair.output)  // Handed over to the one thread that writes.
    Thread.detachNewThread {
        output.value.open()
        bytes.withUnsafeBytes { bytes in
            var rest = bytes.bindMemory(to: UInt8.self)
            while let start = rest.baseAddress, !rest.isEmpty {
                let count = output.value.write(start, maxLength: rest.count)
                guard count > 0 else { return }
                rest = UnsafeBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
        output.value.close()
    }
    return pair.input
}
