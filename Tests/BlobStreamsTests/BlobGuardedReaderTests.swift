import BlobStreams
import Foundation
import Testing

@Suite struct BlobGuardedReaderTests {
    // MARK: C1, C2

    @Test func anEventDrivenPluginThatPromisesBytesAndAppendsNoneMisbehaves() throws {
        let source = PluginSource {
            Plugin(readiness: .init(isOpenCompleted: true, hasBytesAvailable: true)) { _, _ in }
        }
        let readers = [try source.reader(), try source.pollableReader()]
        for reader in readers {
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .misbehavingPlugin)
            #expect(error.message.contains("C1"))
            #expect(throws: error) { try read(reader) }
        }
    }

    @Test func anEventDrivenPluginThatTakesBackItsPromiseBehaves() throws {
        let source = PluginSource {
            Plugin(readiness: .init(isOpenCompleted: true, hasBytesAvailable: true)) { plugin, _ in
                plugin.state?.update { $0.hasBytesAvailable = false }
            }
        }
        let reader = try source.pollableReader()
        #expect(try read(reader) == [])
        #expect(reader.readiness?.value.isAtEnd == false)
    }

    @Test func anEventDrivenPluginIsWaitedForOnBehalfOfBlockingUsers() throws {
        let state = BlobObservable(BlobReaderState())
        let source = PluginSource {
            Plugin(state) { plugin, output in
                guard plugin.readCount == 1 else {
                    plugin.state?.update { $0 = BlobReaderState(isOpenCompleted: true, isAtEnd: true) }
                    return
                }
                output.append(repeating: 1, count: 2, as: UInt8.self)
            }
        }
        let reader = try source.reader()
        #expect(reader.readiness == nil)
        Thread.detachNewThread {
            state.update { $0.isOpenCompleted = true }
            state.update { $0.hasBytesAvailable = true }
        }
        #expect(try read(reader) == [1, 1])
        #expect(try read(reader) == [])
    }

    @Test func aPollableReaderDoesNotWait() throws {
        let state = BlobObservable(BlobReaderState())
        let plugin = Plugin(state) { _, output in output.append(1, as: UInt8.self) }
        let reader = try PluginSource(plugin).pollableReader()
        #expect(try read(reader) == [])
        #expect(plugin.readCount == 0)
        state.update { $0.isOpenCompleted = true }
        state.update { $0.hasBytesAvailable = true }
        #expect(try read(reader) == [1])
    }

    @Test func theErrorOfAnEventDrivenPluginIsThrown() throws {
        for isOpenCompleted in [false, true] {
            let failed = BlobReaderState(isOpenCompleted: isOpenCompleted, error: BlobError(.refused, "No."))
            let reader = try PluginSource { Plugin(readiness: failed) { _, _ in } }.reader()
            let error = try #require(throws: BlobError.self) { try read(reader) }
            #expect(error.code == .refused)
            #expect(error.layers == ["PluginSource"])
        }
    }

    @Test func theEndIsStickyWhateverThePluginSays() throws {
        let plugin = Plugin { plugin, output in
            if plugin.readCount != 2 { output.append(UInt8(plugin.readCount), as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).reader()
        #expect(try read(reader) == [1])
        #expect(try read(reader) == [])
        for _ in 0..<3 { #expect(try read(reader) == []) }
        #expect(plugin.readCount == 2)
    }

    @Test func anEmptyBufferReadsNothingAndIsNotTheEnd() throws {
        let plugin = Plugin { plugin, output in
            if plugin.readCount == 1 { output.append(5, as: UInt8.self) }
        }
        let reader = try PluginSource(plugin).reader()
        #expect(try reader.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == 0)
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
        let reader = try PluginSource(plugin).reader()
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
        let reader = try source.reader()
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
        let plugins = Locked<[HandedOver<Plugin>]>([])  // One thread uses them.
        let source = PluginSource {
            let plugin = Plugin(info: BlobInfo(byteCount: 3)) { _, output in output.append(1, as: UInt8.self) }
            let handedOver = HandedOver(plugin)
            plugins.withLock { $0.append(handedOver) }
            return plugin
        }
        for byteOffset: Int64 in [4, 5, .max] {
            let error = try #require(throws: BlobError.self) { try source.reader(at: byteOffset) }
            #expect(error.code == .invalidArgument)
            #expect(error.operation == .open)
            #expect(error.byteOffset == byteOffset)
        }
        #expect(plugins.withLock { $0.count } == 3)
        #expect(plugins.withLock { $0.allSatisfy { $0.value.closeCount > 0 } })
        for byteOffset: Int64 in [-1, .min] {
            let error = try #require(throws: BlobError.self) { try source.reader(at: byteOffset) }
            #expect(error.code == .invalidArgument)
        }
        // A negative offset never reaches the plugin.
        #expect(plugins.withLock { $0.count } == 3)
    }

    @Test func atTheByteCountAReaderIsAtItsEnd() throws {
        for byteCount: Int64 in [0, 3] {
            let reader = try PluginSource { Plugin(info: BlobInfo(byteCount: byteCount)) { _, _ in } }
                .reader(at: byteCount)
            #expect(try read(reader) == [])
            #expect(reader.byteOffset == byteCount)
        }
    }

    @Test func anEventDrivenPluginThatLearnsItsLengthLateIsHeldToItThen() throws {
        let state = BlobObservable(BlobReaderState())
        let plugin = Plugin(state) { _, output in output.append(1, as: UInt8.self) }
        let reader = try PluginSource(plugin).reader(at: 4)
        plugin.info.byteCount = 3
        state.update { $0 = BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true) }
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .invalidArgument)
        #expect(plugin.readCount == 0)
    }

    @Test func otherContentThanAskedForIsChangedEvenIfThePluginDoesNotLook() throws {
        let info = BlobInfo(validator: .strong("new"))
        let source = PluginSource { Plugin(info: info) { _, output in output.append(1, as: UInt8.self) } }
        #expect(try read(source.reader(matching: .strong("new"))) == [1])
        for validator in [BlobValidator.strong("old"), .weak(byteCount: 1, modificationTime: 2, inode: 3)] {
            let error = try #require(throws: BlobError.self) { try source.reader(matching: validator) }
            #expect(error.code == .changed)
            #expect(error.isTransient)
        }
        let unknown = PluginSource { Plugin { _, _ in } }
        #expect(throws: BlobError.self) { try unknown.reader(matching: .strong("old")) }
    }

    // MARK: C8

    @Test func fewerBytesThanDeclaredMisbehave() throws {
        for delivered in 0..<3 {
            let source = PluginSource {
                Plugin(info: BlobInfo(byteCount: 3)) { plugin, output in
                    if plugin.readCount <= delivered { output.append(1, as: UInt8.self) }
                }
            }
            let reader = try source.reader()
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
            let reader = try source.reader()
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
        let reader = try source.reader()
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
        #expect(try read(source.reader(at: 8)) == [1, 1])
        let reader = try source.reader(at: 7)
        #expect(try read(reader) == [1, 1])
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.message.contains("9 of 10"))
    }

    // MARK: C12, C13, C14

    @Test func theContextIsLookedAtBeforeEachRead() throws {
        let plugin = Plugin { _, output in output.append(1, as: UInt8.self) }
        let context = BlobContext()
        let reader = try PluginSource(plugin).reader(context: context)
        #expect(try read(reader) == [1])
        context.cancellation.cancel()
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .cancelled)
        #expect(error.byteOffset == 1)
        #expect(plugin.readCount == 1)
        let opening = try #require(throws: BlobError.self) { try PluginSource(plugin).reader(context: context) }
        #expect(opening.code == .cancelled)
        #expect(opening.operation == .open)

        let late = BlobContext(deadline: .now)
        let lateError = try #require(throws: BlobError.self) { try PluginSource(plugin).reader(context: late) }
        #expect(lateError.code == .timedOut)
    }

    @Test func cancellingWakesABlockingUserOfAnEventDrivenPlugin() throws {
        for isOpenCompleted in [false, true] {
            let state = BlobObservable(BlobReaderState(isOpenCompleted: isOpenCompleted))
            let context = BlobContext()
            let reader = HandedOver(  // To the one thread that reads.
                try PluginSource(Plugin(state) { _, _ in }).reader(context: context))
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
            let error = try #require(throws: BlobError.self) { try read(source.reader(context: context)) }
            #expect(error.code == .timedOut)
            #expect(error.isTransient)
        }
    }

    @Test func aReadAfterCloseIsClosed() throws {
        let plugin = Plugin { _, output in output.append(1, as: UInt8.self) }
        let reader = try PluginSource(plugin).reader()
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
            let reader = try PluginSource(plugin).reader()
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
        var reader: BlobGuardedReader? = try PluginSource(plugin).reader()
        #expect(try reader.map(read) == [1])
        #expect(plugin.closeCount == 0)
        reader = nil
        #expect(plugin.closeCount == 1)
        reader = try PluginSource(plugin).reader()
        reader?.close()
        reader = nil
        #expect(plugin.closeCount == 2)
    }

    // MARK: C15

    @Test func anErrorOfTheOpeningTellsWhatIsKnown() throws {
        struct Foreign: Error {}
        let source = PluginSource(locator: try BlobLocator("far://user:secret@host/x")) { throw Foreign() }
        let error = try #require(throws: BlobError.self) { try source.reader(at: 3) }
        #expect(error.code == .io)
        #expect(error.cause is Foreign)
        #expect(error.operation == .open)
        #expect(error.locator == "far://user:***@host/x")
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
        let source = SliceSource(ConcatenatedSource([MemorySource([1, 2, 3]), failing]), range: 2..<50)
        let reader = try source.reader()
        #expect(try read(reader) == [3])
        #expect(try read(reader).count == 10)
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .corrupted)
        #expect(error.operation == .read)
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
            try SliceSource(ConcatenatedSource([failing]), from: 0).checkedInfo()
        }
        #expect(error.code == .unavailable)
        #expect(error.operation == .info)
        #expect(error.locator == "far:x")
        #expect(error.byteOffset == nil)
        #expect(error.layers == ["SliceSource", "ConcatenatedSource", "PluginSource"])
        let opening = try #require(throws: BlobError.self) { try ConcatenatedSource([failing]).reader() }
        #expect(opening.operation == .info)
        #expect(opening.layers == ["ConcatenatedSource", "PluginSource"])
    }

    // MARK: Properties

    @Test func streamPropertiesPassThroughTheGuard() throws {
        let plugin = Plugin { _, _ in }
        let reader = try PluginSource(plugin).reader()
        let key = Stream.PropertyKey("colour")
        #expect(reader.property(forKey: key) == nil)
        #expect(reader.setProperty("red", forKey: key))
        #expect(reader.property(forKey: key) as? String == "red")
        #expect(!reader.setProperty(1, forKey: key))
    }
}

// MARK: - Plugins

private func read(_ reader: BlobGuardedReader) throws -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
    defer { buffer.deallocate() }
    let count = try reader.read(into: buffer)
    return Array(buffer[..<count])
}

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
        let handedOver = HandedOver(plugin)  // The tests read on one thread at a time.
        self.init { handedOver.value }
    }

    var capabilities: BlobCapabilities { .all }

    func info(_ context: BlobContext) throws -> BlobInfo {
        if let infoError { throw infoError }
        return self.info
    }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.open()
    }
}

/// A reader that does as it is told, right or wrong.
private final class Plugin: BlobReader {
    typealias Body = (Plugin, inout OutputRawSpan) throws -> Void

    var info: BlobInfo
    let state: BlobObservable<BlobReaderState>?
    private(set) var readCount = 0
    private(set) var closeCount = 0
    private var colour: String?
    private let body: Body

    init(info: BlobInfo = BlobInfo(), _ state: BlobObservable<BlobReaderState>? = nil, _ body: @escaping Body) {
        self.info = info
        self.state = state
        self.body = body
    }

    convenience init(readiness: BlobReaderState, _ body: @escaping Body) {
        self.init(BlobObservable(readiness), body)
    }

    var readiness: BlobObservable<BlobReaderState>? { self.state }

    func read(into output: inout OutputRawSpan) throws {
        self.readCount += 1
        try self.body(self, &output)
    }

    func property(forKey key: Stream.PropertyKey) -> Any? { key.rawValue == "colour" ? self.colour : nil }

    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        guard key.rawValue == "colour", let value = value as? String else { return false }
        self.colour = value
        return true
    }

    func close() { self.closeCount += 1 }
}
