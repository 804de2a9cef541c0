import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@Suite struct FIFOTests {
    private let folder: TemporaryFolder
    private let path: String
    private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = try self.folder.makeFIFO("fifo")
    }

    private var source: FileSource { FileSource(path: self.path) }

    /// Writes on a thread of its own, and closes.
    private func startWriting(_ bytes: [UInt8]) {
        let path = self.path
        Thread.detachNewThread {
            do {
                let writer = try File(path, O_WRONLY)
                try writer.write(bytes)
                writer.close()
            } catch {
                Issue.record(error)
            }
        }
    }

    // MARK: Content

    @Test func aFIFOIsReadToTheEndOfItsWriter() throws {
        let reader = try self.source.open()
        self.startWriting(self.content)
        #expect(try readAll(reader) == self.content)
        for _ in 0..<3 { #expect(try read(reader) == []) }
        reader.close()
        #expect(openDescriptorCount(below: self.folder.path) == 0)
    }

    @Test func aFIFOIsReadInAnyPieces() throws {
        for byteCount in [1, 3, 64, 4096] {
            let reader = try self.source.open()
            self.startWriting(Array(self.content.prefix(5000)))
            #expect(try readAll(reader, inPiecesOf: byteCount) == Array(self.content.prefix(5000)))
        }
    }

    @Test func aWriterMayComeLater() throws {
        let reading = BackgroundReading(try self.source.open())
        reading.waitUntilItSleeps()
        let writer = try File(self.path, O_WRONLY)
        reading.waitUntilItSleeps()
        try writer.write([1, 2])
        reading.waitUntilItSleeps()
        try writer.write([3])
        writer.close()
        #expect(try reading.result()?.get() == [1, 2, 3])
    }

    @Test func theEndStaysTheEndWhenAnotherWriterComes() throws {
        let reader = try self.source.open()
        self.startWriting([1])
        #expect(try readAll(reader) == [1])
        let writer = try File(self.path, O_WRONLY)
        try writer.write([2])
        #expect(try read(reader) == [])
        writer.close()
    }

    @Test func aWriterWithoutBytesIsAnEmptyBlob() throws {
        let reader = try self.source.open()
        try File(self.path, O_WRONLY).close()
        #expect(try read(reader) == [])
    }

    @Test func nothingIsKnownOfAFIFOBeforeItIsRead() throws {
        #expect(try self.source.info() == BlobInfo(name: "fifo"))
        #expect(self.source.traits.isEmpty)
        let error = try #require(throws: BlobError.self) { try self.source.open(matching: .strong("x")) }
        #expect(error.code == .changed)
    }

    @Test func bytesBeforeTheOffsetAreDropped() throws {
        for byteOffset in [1, 100_000, 299_999, 300_000] {
            let reader = try self.source.open(at: Int64(byteOffset))
            self.startWriting(self.content)
            #expect(try readAll(reader) == Array(self.content.dropFirst(byteOffset)))
        }
    }

    @Test func anOffsetPastTheEndIsRefusedWhenTheEndIsMet() throws {
        let reader = try self.source.open(at: 4)
        self.startWriting([1, 2, 3])
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("4"))
        #expect(error.message.contains("3"))
        #expect(throws: error) { try read(reader) }
    }

    // MARK: Stopping

    @Test func cancellingStopsAReadThatWaitsForAWriter() throws {
        let context = BlobContext()
        let reader = try self.source.open(context: context)
        let reading = BackgroundReading(reader)
        reading.waitUntilItSleeps()
        context.cancellation.cancel()
        let result = reading.result(within: 1)
        #expect(result?.error?.code == .cancelled)
        #expect(result?.error?.locator == self.source.locator?.text)
        reader.close()
        #expect(openDescriptorCount(below: self.folder.path) == 0)
    }

    @Test func cancellingStopsAReadThatWaitsForBytes() throws {
        for byteOffset: Int64 in [0, 10] {
            let context = BlobContext()
            let reading = BackgroundReading(try self.source.open(at: byteOffset, context: context))
            let writer = try File(self.path, O_WRONLY)
            defer { writer.close() }
            try writer.write([1, 2, 3])
            reading.waitUntilItSleeps()
            context.cancellation.cancel()
            #expect(reading.result(within: 1)?.error?.code == .cancelled)
        }
    }

    @Test func theIdleLimitAndTheDeadlineEndAWait() throws {
        let start = ContinuousClock.now
        let contexts = [
            BlobContext(idleLimit: .milliseconds(30)), BlobContext(deadline: start + .milliseconds(30)),
        ]
        for context in contexts {
            let error = try #require(throws: BlobError.self) { try read(self.source.open(context: context)) }
            #expect(error.code == .timedOut)
            #expect(error.isTransient)
            #expect(ContinuousClock.now - start >= .milliseconds(30))
        }
    }

    @Test func theIdleLimitCountsFromTheLastBytes() throws {
        let reader = try self.source.open(context: BlobContext(idleLimit: .milliseconds(30)))
        let writer = try File(self.path, O_WRONLY)
        defer { writer.close() }
        try writer.write([1])
        #expect(try read(reader) == [1])
        let error = try #require(throws: BlobError.self) { try read(reader) }
        #expect(error.code == .timedOut)
        #expect(error.byteOffset == 1)
        #expect(error.message.contains("idle limit"))
    }

    // MARK: Interruptions

    @Test func interruptedAndShortReadsAreInvisible() async {
        // In a process of its own: the handling of a signal belongs to the whole process.
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            try folder.makeFIFO("fifo")
            letInterrupt(SIGUSR1)
            signal(SIGPIPE, SIG_IGN)  // A reader that gives up is then told as an error.
            let reading = BackgroundReading(try FileSource(path: folder.path("fifo")).open())
            reading.waitUntilItSleeps()
            for _ in 0..<20 { reading.interrupt(with: SIGUSR1) }
            let writer = try File(folder.path("fifo"), O_WRONLY)
            let content = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
            for byte in content {
                reading.waitUntilItSleeps()
                reading.interrupt(with: SIGUSR1)
                try writer.write([byte])
                reading.interrupt(with: SIGUSR1)
            }
            writer.close()
            #expect(try reading.result()?.get() == content)
        }
    }
}
