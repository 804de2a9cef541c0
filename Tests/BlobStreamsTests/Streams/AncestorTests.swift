import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The situations of the tests of POSInputStreamLibrary, restated: a stream of nine bytes on a run loop.
///
/// Its tests of Core Foundation clients are the same situations here: there is one way to be told of events.
@Suite(.timeLimit(.minutes(10))) struct AncestorTests {
    struct Setting: Sendable, CustomStringConvertible {
        let mode: BlobStreamMode
        let loopMode: RunLoop.Mode
        var description: String { "\(self.mode) \(self.loopMode.rawValue)" }
    }

    static let settings = [BlobStreamMode.synchronous, .asynchronous].flatMap { mode in
        [RunLoop.Mode.default, RunLoop.Mode("a mode of one's own")].map { Setting(mode: mode, loopMode: $0) }
    }

    private final class Fixture {
        let setting: Setting
        let stream: BlobInputStream
        let delegate = RecordingDelegate()

        init(_ setting: Setting, _ source: any BlobInputStreamDataSource = MemorySource(count: 9)) {
            self.setting = setting
            self.stream = BlobInputStream(source, mode: setting.mode)
        }

        /// Schedules, opens if that was not done, and runs until there are `count` events; then none may follow.
        func run(untilEvents count: Int) -> Bool {
            self.stream.schedule(in: .current, forMode: self.setting.loopMode)
            if self.stream.streamStatus == .notOpen { self.stream.open() }
            RunLoop.current.run(in: self.setting.loopMode) { self.delegate.events.count >= count }
            return RunLoop.current.drain(in: self.setting.loopMode)
        }

        func finish() {
            self.stream.close()
            #expect(!RunLoop.current.drain(in: self.setting.loopMode), "Closing takes the stream out of its run loops.")
        }
    }

    private static func fixture(
        _ setting: Setting, _ source: any BlobInputStreamDataSource = MemorySource(count: 9),
        _ body: @escaping @Sendable (Fixture) -> Void
    ) async throws {
        try await onThread { body(Fixture(setting, source)) }
    }

    @Test(arguments: settings) func streamMayBeClosedOnlyAfterOpening(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            let stream = fixture.stream
            stream.delegate = fixture.delegate
            stream.close()
            #expect(stream.streamStatus == .notOpen)
            stream.open()
            _ = stream.readBytes(0)
            #expect(stream.streamStatus != .notOpen)
            stream.close()
            #expect(stream.streamStatus == .closed)
            stream.schedule(in: .current, forMode: setting.loopMode)
            #expect(!RunLoop.current.drain(in: setting.loopMode), "A closed stream keeps no run loop running.")
            #expect(fixture.delegate.events.isEmpty)
            stream.remove(from: .current, forMode: setting.loopMode)
        }
    }

    @Test(arguments: settings) func runLoopGoesOnWhileTheStreamIsOpen(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            fixture.stream.delegate = fixture.delegate
            #expect(fixture.run(untilEvents: 2))
            #expect(fixture.delegate.events == [.openCompleted, .hasBytesAvailable])
            fixture.finish()
        }
    }

    @Test(arguments: settings, SourceKind.allCases)
    func runLoopGoesOnWhileTheStreamIsOpenAndEmpty(_ setting: Setting, _ kind: SourceKind) async throws {
        // Whether a blocking source of unknown length is empty, only a read tells.
        if kind == .blockingOfUnknownLength, setting.mode == .synchronous { return }
        try await Self.fixture(setting, kind.source(0)) { fixture in
            fixture.stream.delegate = fixture.delegate
            #expect(fixture.run(untilEvents: 2))
            #expect(fixture.delegate.events == [.openCompleted, .endEncountered])
            #expect(fixture.stream.streamStatus == .atEnd)
            fixture.finish()
        }
    }

    @Test(arguments: settings) func runLoopEndsWhenTheStreamIsClosed(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            fixture.stream.delegate = fixture.delegate
            fixture.delegate.on(.hasBytesAvailable) { $0.close() }
            #expect(!fixture.run(untilEvents: .max))
            #expect(fixture.stream.streamStatus == .closed)
            #expect(fixture.delegate.events == [.openCompleted, .hasBytesAvailable])
        }
    }

    @Test(arguments: settings) func aDelegateThatWasRemovedGetsNothing(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            fixture.delegate.on(.hasBytesAvailable) { $0.close() }
            fixture.stream.delegate = fixture.delegate
            fixture.stream.delegate = nil
            fixture.stream.open()
            fixture.stream.schedule(in: .current, forMode: setting.loopMode)
            RunLoop.current.run(in: setting.loopMode) { fixture.stream.state.value.hasBytesAvailable }
            #expect(RunLoop.current.drain(in: setting.loopMode))
            #expect(fixture.stream.streamStatus == .open)
            #expect(fixture.delegate.events.isEmpty)
            fixture.finish()
        }
    }

    @Test(arguments: settings) func nothingIsDeliveredWithoutScheduling(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            fixture.stream.delegate = fixture.delegate
            fixture.stream.open()
            #expect(fixture.stream.readBytes(1).count == 1)
            RunLoop.current.drain(in: setting.loopMode)
            #expect(fixture.stream.streamStatus == .open)
            #expect(fixture.delegate.events.isEmpty)
            fixture.finish()
        }
    }

    @Test(arguments: settings) func eventsThatPassedAreNotForALaterDelegate(_ setting: Setting) async throws {
        try await Self.fixture(setting) { fixture in
            let first = RecordingDelegate()
            fixture.stream.delegate = first
            fixture.stream.schedule(in: .current, forMode: setting.loopMode)
            fixture.stream.open()
            RunLoop.current.run(in: setting.loopMode) { first.events.count == 2 }
            fixture.delegate.on(.hasBytesAvailable) { $0.close() }
            fixture.stream.delegate = fixture.delegate
            #expect(RunLoop.current.drain(in: setting.loopMode))
            #expect(fixture.stream.streamStatus == .open)
            #expect(fixture.delegate.events.isEmpty)
            fixture.finish()
        }
    }

    @Test(arguments: settings) func aFailedOpeningIsAnErrorInsteadOfOpen(_ setting: Setting) async throws {
        let cause = NSError(domain: "Bla", code: 777, userInfo: [NSLocalizedDescriptionKey: "Unavailable."])
        try await Self.fixture(setting, UnopenableSource(error: cause)) { fixture in
            fixture.stream.delegate = fixture.delegate
            #expect(fixture.run(untilEvents: 1))
            #expect(fixture.stream.streamStatus == .error)
            let error = fixture.stream.streamError.map { $0 as NSError }
            #expect(error?.domain == BlobError.errorDomain)
            #expect(error?.code == BlobError.Code.io.rawValue)
            let underlying = error?.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect(underlying?.domain == "Bla")
            #expect(underlying?.code == 777)
            #expect(fixture.delegate.events == [.errorOccurred])
            fixture.finish()
        }
    }

    @Test(arguments: settings, SourceKind.allCases)
    func bytesAreAnnouncedAfterEachRead(_ setting: Setting, _ kind: SourceKind) async throws {
        try await Self.fixture(setting, kind.source(9)) { fixture in
            fixture.stream.delegate = fixture.delegate
            let bytes = Recorder<UInt8>()
            fixture.delegate.on(.hasBytesAvailable) { stream in
                for byte in (stream as? InputStream)?.readBytes(1).bytes ?? [] { bytes.append(byte) }
            }
            fixture.delegate.on(.endEncountered) { $0.close() }
            #expect(!fixture.run(untilEvents: .max))
            #expect(fixture.stream.streamStatus == .closed)
            #expect(bytes.values == testBytes(9))
            // One look more, where only a read finds the end.
            let looks = kind == .blockingOfUnknownLength && setting.mode == .synchronous ? 10 : 9
            #expect(
                fixture.delegate.events == [.openCompleted] + Array(repeating: .hasBytesAvailable, count: looks)
                    + [.endEncountered])
        }
    }

    @Test(arguments: settings, SourceKind.allCases)
    func allBytesCanBeReadAtOnce(_ setting: Setting, _ kind: SourceKind) async throws {
        try await Self.fixture(setting, kind.source(9)) { fixture in
            fixture.stream.delegate = fixture.delegate
            let counts = Recorder<Int>()
            fixture.delegate.on(.hasBytesAvailable) { stream in
                counts.append((stream as? InputStream)?.readBytes(1024).count ?? -2)
            }
            fixture.delegate.on(.endEncountered) { stream in
                counts.append((stream as? InputStream)?.readBytes(1).count ?? -2)
                stream.close()
            }
            #expect(!fixture.run(untilEvents: .max))
            let looks = kind == .blockingOfUnknownLength && setting.mode == .synchronous ? [9, 0] : [9]
            #expect(counts.values == looks + [0], "A read at the end gives 0.")
        }
    }
}

/// A source that cannot be opened.
struct UnopenableSource: BlobInputStreamDataSource {
    let error: NSError
    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { throw self.error }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { throw self.error }
}
