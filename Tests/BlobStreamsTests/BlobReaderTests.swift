import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct BlobReaderTests {
    // MARK: C1, C2

    @Test func aPluginThatDoesNotSayWhatItDidMisbehaves() throws {
        let liars: [(BlobReadResult, Int)] = [(.bytes, 0), (.end, 1), (.notYet, 1)]
        for (result, count) in liars {
            let plugin = Plugin { _, output in output.append(repeating: 1, count: count, as: UInt8.self) }
            plugin.result = result
            let reader = try PluginSource(plugin).open()
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .misbehavingPlugin)
            #expect(error.message.contains("C1"))
            #expect(throws: error) { try read(reader) }
            #expect(reader.byteOffset == 0)
        }
    }

    @Test func aPluginThatSaysNotYetAndNeverTellsWhenMisbehaves() throws {
        final class Mute: BlobByteStream {
            let info: BlobInfo? = BlobInfo()
            func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult { .notYet }
        }
        struct MuteSource: BlobInputStreamDataSource {
            var traits: BlobTraits { [.repeatable, .concurrentReaders] }
            func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }
            func makeBody(_ opening: BlobOpening) -> BlobBody { .stream(Mute(), startingAt: 0) }
        }
        let error = try #require(throws: BlobError.self) { try read(MuteSource().open()) }
        #expect(error.code == .misbehavingPlugin)
        #expect(error.message.contains("C1"))
    }

    @Test func anEventDrivenPluginIsWaitedFor() throws {
        let state = BlobObservable(BlobReaderState())
        let source = PluginSource {
            Plugin(state) { plugin, output in
                guard state.value.hasBytesAvailable else { return }
                state.update { $0 = BlobReaderState(isOpenCompleted: true, isAtEnd: true) }
                output.append(repeating: 1, count: 2, as: UInt8.self)
            }
        }
        let reader = try source.open()
        Thread.detachNewThread {
            state.update { $0.isOpenCompleted = true }
            state.update { $0.hasBytesAvailable = true }
        }
        #expect(try read(reader) == [1, 1])
        #expect(try read(reader) == [])
    }

    /// Between a look that found nothing and the wait, when nobody is to be woken yet.
    @Test(.timeLimit(.minutes(5))) func aCancellationBeforeTheSecondWaitEndsIt() async throws {
        try await onThread {
            let context = BlobContext()
            let state = BlobObservable(BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true))
            let plugin = Plugin(state) { plugin, _ in
                guard plugin.readCount == 2 else { return }
                state.update { $0.hasBytesAvailable = false }
                context.cancellation.cancel()
            }
            let reader = try PluginSource(plugin).open(context: context)
            #expect(try #require(throws: BlobError.self) { try read(reader) }.code == .cancelled)
            #expect(plugin.readCount == 2)
        }
    }

    @Test func aReadThatDoesNotWaitSaysThatNothingIsThereYet() throws {
        let state = BlobObservable(BlobReaderState())
        let plugin = Plugin(state) { _, output in
            if state.value.hasBytesAvailable { output.append(1, as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).open()
        #expect(try readNow(reader).0 == .notYet)
        let wakes = Recorder<Bool>()
        reader.whenReadable(BlobWaker { wakes.append(true) })
        state.update { $0.isOpenCompleted = true }
        state.update { $0.hasBytesAvailable = true }
        #expect(wakes.values == [true], "Once for each registration.")
        #expect(try readNow(reader) == (.bytes, [1]))
    }

    @Test func closingDropsTheWaker() throws {
        let state = BlobObservable(BlobReaderState(isOpenCompleted: true))
        let (context, wakes) = (BlobContext(), Recorder<Bool>())
        let reader = try PluginSource(Plugin(state) { _, _ in }).open(context: context)
        #expect(try readNow(reader).0 == .notYet)
        reader.whenReadable(BlobWaker { wakes.append(true) })
        reader.close()
        state.update { $0.hasBytesAvailable = true }
        context.cancellation.cancel()
        reader.whenReadable(BlobWaker { wakes.append(true) })
        #expect(wakes.values.isEmpty)
    }

    @Test func theErrorOfAnEventDrivenPluginIsThrown() throws {
        for isOpenCompleted in [false, true] {
            let failed = BlobReaderState(isOpenCompleted: isOpenCompleted, error: BlobError(.refused, "No."))
            let reader = try PluginSource { Plugin(readiness: failed) { _, _ in } }.open()
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .refused)
            #expect(error.layers == ["PluginSource"])
        }
    }

    @Test func theEndIsStickyWhateverThePluginSays() throws {
        let plugin = Plugin { plugin, output in
            if plugin.readCount != 2 { output.append(UInt8(plugin.readCount), as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).open()
        #expect(try read(reader) == [1])
        #expect(try read(reader) == [])
        for _ in 0..<3 { #expect(try read(reader) == []) }
        #expect(plugin.readCount == 2)
    }

    @Test func anEmptyBufferReadsNothingAndIsNotTheEnd() throws {
        let plugin = Plugin { plugin, output in
            if plugin.readCount == 1 { output.append(5, as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).open()
        #expect(try reader.readBlocking(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == 0)
        #expect(plugin.readCount == 0)
        #expect(try read(reader) == [5])
    }

    // MARK: C3

    @Test func theFirstErrorComesAgainWhateverThePluginThrowsLater() throws {
        struct First: Error {}
        struct Later: Error {}
        let plugin = Plugin { plugin, output in
            switch plugin.readCount {
            case 1: output.append(1, as: UInt8.self)
            case 2: throw First()
            case 3: throw Later()
            default: output.append(9, as: UInt8.self)
            }
        }
        let reader = try PluginSource(plugin).open()
        #expect(try read(reader) == [1])
        let first = try #require(throws: BlobError.self) { try read(reader) }
        #expect(first.cause is First)
        #expect(first.byteOffset == 1)
        for _ in 0..<3 {
            let again = try #require(throws: BlobError.self) { try read(reader) }
            #expect(again == first)
            #expect(again.cause is First)
        }
        #expect(plugin.readCount == 2)
        #expect(reader.byteOffset == 1)
    }

    @Test func theBytesOfAThrowingCallDoNotCount() throws {
        let source = PluginSource {
            Plugin { _, output in
                output.append(repeating: 0xEE, count: 3, as: UInt8.self)
                throw BlobError(.corrupted, "Broken after 3 bytes.")
            }
        }
        let reader = try source.open()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
        defer { memory.deallocate() }
        var output = OutputRawSpan(buffer: memory, initializedCount: 0)
        output.append(1, as: UInt8.self)
        let error = #expect(throws: BlobError.self) { try reader.read(into: &output) }
        #expect(output.byteCount == 1)
        _ = output.finalize(for: memory)
        #expect(error?.code == .corrupted)
        #expect(error?.byteOffset == 0)
        #expect(reader.byteOffset == 0)
    }

    // MARK: C5, C7

    @Test func anOffsetPastTheEndIsRefusedEvenIfThePluginTakesIt() throws {
        let plugins = Locked<[UnsafeTransfer<Plugin>]>([])  // One thread uses them.
        let source = PluginSource {
            let plugin = Plugin(info: BlobInfo(byteCount: 3)) { _, output in output.append(1, as: UInt8.self) }
            let handedOver = UnsafeTransfer(plugin)
            plugins.withLock { $0.append(handedOver) }
            return plugin
        }
        for byteOffset: Int64 in [4, 5, .max] {
            let error = try #require(throws: BlobError.self) { try source.open(at: byteOffset) }
            #expect(error.code == .invalidArgument)
            #expect(error.operation == "open")
            #expect(error.byteOffset == byteOffset)
        }
        #expect(plugins.withLock { $0.count } == 3)
        #expect(plugins.withLock { $0.allSatisfy { $0.value.closeCount > 0 } })
        for byteOffset: Int64 in [-1, .min] {
            let error = try #require(throws: BlobError.self) { try source.open(at: byteOffset) }
            #expect(error.code == .invalidArgument)
        }
        // A negative offset never reaches the plugin.
        #expect(plugins.withLock { $0.count } == 3)
    }

    @Test func atTheByteCountAReaderIsAtItsEnd() throws {
        for byteCount: Int64 in [0, 3] {
            let reader = try PluginSource { Plugin(info: BlobInfo(byteCount: byteCount)) { _, _ in } }
                .open(at: byteCount)
            #expect(try read(reader) == [])
            #expect(reader.byteOffset == byteCount)
        }
    }

    @Test func anEventDrivenPluginThatLearnsItsLengthLateIsHeldToItThen() throws {
        let state = BlobObservable(BlobReaderState())
        let plugin = Plugin(state) { _, output in
            if state.value.hasBytesAvailable { output.append(1, as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).open(at: 4)
        #expect(try readNow(reader).0 == .notYet)
        plugin.finalInfo.byteCount = 3
        state.update { $0 = BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true) }
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .invalidArgument)
        #expect(reader.byteOffset == 4)
    }

    @Test func otherContentThanAskedForIsChangedEvenIfThePluginDoesNotLook() throws {
        let info = BlobInfo(validator: .strong("new"))
        let source = PluginSource { Plugin(info: info) { _, output in output.append(1, as: UInt8.self) } }
        #expect(try read(source.open(matching: .strong("new"))) == [1])
        for validator in [BlobValidator.strong("old"), .weak("1-2-3")] {
            let error = try #require(throws: BlobError.self) { try source.open(matching: validator) }
            #expect(error.code == .changed)
            #expect(error.isTransient)
        }
        let unknown = PluginSource { Plugin { _, _ in } }
        #expect(throws: BlobError.self) { try unknown.open(matching: .strong("old")) }
    }

    // MARK: C8

    @Test func fewerBytesThanDeclaredMisbehave() throws {
        for delivered in 0..<3 {
            let source = PluginSource {
                Plugin(info: BlobInfo(byteCount: 3)) { plugin, output in
                    if plugin.readCount <= delivered { output.append(1, as: UInt8.self) }
                }
            }
            let reader = try source.open()
            for _ in 0..<delivered { #expect(try read(reader) == [1]) }
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .misbehavingPlugin)
            #expect(error.message.contains("C8"))
            #expect(error.message.contains("\(delivered) of 3"))
            #expect(error.byteOffset == Int64(delivered))
        }
    }

    @Test func moreBytesThanDeclaredMisbehaveAndAreNotPassedOn() throws {
        for declared: Int64 in 0..<3 {
            let source = PluginSource {
                Plugin(info: BlobInfo(byteCount: declared)) { _, output in
                    output.append(repeating: 1, count: output.freeCapacity, as: UInt8.self)
                }
            }
            let reader = try source.open()
            if declared > 0 { #expect(try read(reader) == Array(repeating: 1, count: Int(declared))) }
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .misbehavingPlugin)
            #expect(error.message.contains("C8"))
            #expect(error.byteOffset == declared)
        }
    }

    @Test func thePluginChecksAtItsEndBeforeTheEndIsReported() throws {
        // All declared bytes are there, and the plugin finds a wrong checksum behind them.
        let source = PluginSource {
            Plugin(info: BlobInfo(byteCount: 2)) { plugin, output in
                guard plugin.readCount == 1 else { throw BlobError(.checksumMismatch, "Wrong.") }
                output.append(repeating: 1, count: 2, as: UInt8.self)
            }
        }
        let reader = try source.open()
        #expect(try read(reader) == [1, 1])
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .checksumMismatch)
        #expect(error.byteOffset == 2)
    }

    @Test func aShortRangeOfAPluginFromAnOffsetIsCountedFromTheStart() throws {
        let source = PluginSource {
            Plugin(info: BlobInfo(byteCount: 10)) { plugin, output in
                if plugin.readCount == 1 { output.append(repeating: 1, count: 2, as: UInt8.self) }
            }
        }
        #expect(try read(source.open(at: 8)) == [1, 1])
        let reader = try source.open(at: 7)
        #expect(try read(reader) == [1, 1])
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.message.contains("9 of 10"))
    }

    // MARK: C12, C13, C14

    @Test func theContextIsLookedAtBeforeEachRead() throws {
        let plugin = Plugin { _, output in output.append(1, as: UInt8.self) }
        let context = BlobContext()
        let reader = try PluginSource(plugin).open(context: context)
        #expect(try read(reader) == [1])
        context.cancellation.cancel()
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .cancelled)
        #expect(error.byteOffset == 1)
        #expect(plugin.readCount == 1)
        let opening = try #require(throws: BlobError.self) { try PluginSource(plugin).open(context: context) }
        #expect(opening.code == .cancelled)
        #expect(opening.operation == "open")

        let late = BlobContext(deadline: .now)
        let lateError = try #require(throws: BlobError.self) { try PluginSource(plugin).open(context: late) }
        #expect(lateError.code == .timedOut)
    }

    @Test func cancellingWakesABlockingUserOfAnEventDrivenPlugin() throws {
        for isOpenCompleted in [false, true] {
            let state = BlobObservable(BlobReaderState(isOpenCompleted: isOpenCompleted))
            let context = BlobContext()
            let reader = UnsafeTransfer(  // To the one thread that reads.
                try PluginSource(Plugin(state) { _, _ in }).open(context: context))
            let outcome = Locked<BlobError?>(nil)
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                let error = #expect(throws: BlobError.self) { try read(reader.value) }
                outcome.withLock { $0 = error }
                done.signal()
            }
            context.cancellation.cancel()
            #expect(done.wait(timeout: .now() + 30) == .success)
            #expect(outcome.withLock { $0 }?.code == .cancelled)
        }
    }

    @Test func theDeadlineAndTheIdleLimitEndAWait() throws {
        let contexts = [
            BlobContext(deadline: .now + .milliseconds(20)), BlobContext(idleLimit: .milliseconds(20)),
        ]
        for context in contexts {
            let source = PluginSource { Plugin(readiness: .init(isOpenCompleted: true)) { _, _ in } }
            let error = try #require(throws: BlobError.self) { try read(source.open(context: context)) }
            #expect(error.code == .timedOut)
            #expect(error.isTransient)
        }
    }

    @Test func aReadAfterCloseIsClosed() throws {
        let plugin = Plugin { _, output in output.append(1, as: UInt8.self) }
        let reader = try PluginSource(plugin).open()
        #expect(try read(reader) == [1])
        reader.close()
        reader.close()
        #expect(plugin.closeCount == 1)
        for _ in 0..<2 {
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .closed)
            #expect(error.layers == ["PluginSource"])
        }
        #expect(plugin.readCount == 1)
    }

    @Test func closingAfterTheEndOrAnErrorClosesThePlugin() throws {
        let ended = Plugin { _, _ in }
        let failed = Plugin { _, _ in throw BlobError(.corrupted, "Broken.") }
        for plugin in [ended, failed] {
            let reader = try PluginSource(plugin).open()
            _ = try? read(reader)
            #expect(plugin.closeCount == 0)
            reader.close()
            #expect(plugin.closeCount == 1)
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .closed)
        }
    }

    @Test func aReaderThatIsLetGoOfIsClosed() throws {
        let plugin = Plugin { _, output in output.append(1, as: UInt8.self) }
        var reader: BlobReader? = try PluginSource(plugin).open()
        #expect(try reader.map { try read($0) } == [1])
        #expect(plugin.closeCount == 0)
        reader = nil
        #expect(plugin.closeCount == 1)
        reader = try PluginSource(plugin).open()
        reader?.close()
        reader = nil
        #expect(plugin.closeCount == 2)
    }

    // MARK: C15

    @Test func anErrorOfTheOpeningTellsWhatIsKnown() throws {
        struct Foreign: Error {}
        let source = PluginSource(locator: try BlobLocator("far://user:secret@host/x")) { throw Foreign() }
        let error = try #require(throws: BlobError.self) { try source.open(at: 3) }
        #expect(error.code == .io)
        #expect(error.cause is Foreign)
        #expect(error.operation == "open")
        #expect(error.locator == "far://***@host/x")
        #expect(error.byteOffset == 3)
        #expect(error.layers == ["PluginSource"])
    }

    @Test func anErrorTellsItsPathThroughTheLayersOutermostFirst() throws {
        let locator = try BlobLocator("far://host/x")
        let failing = PluginSource(locator: locator, info: BlobInfo(byteCount: 100)) {
            Plugin(info: BlobInfo(byteCount: 100)) { plugin, output in
                guard plugin.readCount == 1 else { throw BlobError(.corrupted, "Broken.") }
                output.append(repeating: 1, count: 10, as: UInt8.self)
            }
        }
        let source = ConcatenatedSource([MemorySource([1, 2, 3]), failing]).slice(2..<50)
        let reader = try source.open()
        #expect(try read(reader) == [3])
        #expect(try read(reader).count == 10)
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .corrupted)
        #expect(error.operation == "read")
        #expect(error.locator == "far://host/x")
        #expect(error.byteOffset == 10)
        #expect(error.layers == ["SliceSource", "ConcatenatedSource", "PluginSource"])
        #expect(error.description == "corrupted: Broken. [far://host/x] (at byte 10)")
        #expect(throws: error) { try read(reader) }
    }

    @Test func anErrorOfAnInfoTellsItsLayers() throws {
        let failing = PluginSource(locator: try BlobLocator("far:x"), infoError: BlobError(.unavailable, "Away.")) {
            Plugin { _, _ in }
        }
        let error = try #require(throws: BlobError.self) {
            try ConcatenatedSource([failing]).slice(0...).info()
        }
        #expect(error.code == .unavailable)
        #expect(error.operation == "info")
        #expect(error.locator == "far:x")
        #expect(error.byteOffset == nil)
        #expect(error.layers == ["SliceSource", "ConcatenatedSource", "PluginSource"])
        let opening = try #require(throws: BlobError.self) { try ConcatenatedSource([failing]).open() }
        #expect(opening.operation == "info")
        #expect(opening.layers == ["ConcatenatedSource", "PluginSource"])
    }
}

// MARK: - Plugins

private struct PluginSource: BlobInputStreamDataSource {
    let locator: BlobLocator?
    private let info: BlobInfo
    private let infoError: BlobError?
    private let open: @Sendable () throws -> Plugin

    init(
        locator: BlobLocator? = nil, info: BlobInfo = BlobInfo(), infoError: BlobError? = nil,
        open: @escaping @Sendable () throws -> Plugin
    ) {
        self.locator = locator
        self.info = info
        self.infoError = infoError
        self.open = open
    }

    init(_ plugin: Plugin) {
        let handedOver = UnsafeTransfer(plugin)  // The tests read on one thread at a time.
        self.init { handedOver.value }
    }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        if let infoError { throw infoError }
        return self.info
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.open(), startingAt: opening.byteOffset)
    }
}

/// A stream that does as it is told, right or wrong.
private final class Plugin: BlobByteStream {
    typealias Body = (Plugin, inout OutputRawSpan) throws -> Void

    var finalInfo: BlobInfo
    let state: BlobObservable<BlobReaderState>?
    private(set) var readCount = 0
    private(set) var closeCount = 0
    var result: BlobReadResult?
    private let slot = BlobWakerSlot()
    private var observation: BlobRegistration?
    private let body: Body

    init(info: BlobInfo = BlobInfo(), _ state: BlobObservable<BlobReaderState>? = nil, _ body: @escaping Body) {
        self.finalInfo = info
        self.state = state
        self.body = body
        self.observation = state?.observe(\.self) { [slot] _ in slot.fire() }
    }

    convenience init(readiness: BlobReaderState, _ body: @escaping Body) {
        self.init(BlobObservable(readiness), body)
    }

    var info: BlobInfo? { self.state?.value.isOpenOrReady ?? true ? self.finalInfo : nil }
    var readiness: BlobWakerSlot? { self.slot }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        self.readCount += 1
        let (before, count) = (self.state?.value, output.byteCount)
        try self.body(self, &output)
        if let result { return result }
        if output.byteCount > count { return .bytes }
        guard let before else { return .end }
        if let error = before.error { throw error }
        if before.isAtEnd { return .end }
        if state?.value.isReady ?? false { self.slot.fire() }
        return .notYet
    }

    func close() { self.closeCount += 1 }
}

extension BlobReaderState {
    fileprivate var isOpenOrReady: Bool { self.isOpenCompleted || self.isReady }
}
