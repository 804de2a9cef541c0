#if Command
import BlobTestSupport
import Foundation
import Testing

/// Interrupts, and pipes that nobody reads.
@Suite struct SignalTests {
    private let folder: TemporaryFolder
    private let file: String
    private let fifo: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
        self.fifo = try self.folder.makeFIFO("fifo")
    }

    /// A sparse file that no pipe can hold.
    private func makeBigFile() throws -> String {
        let file = try self.folder.write("", to: "big")
        try #require(truncate(file, 1 << 30) == 0)
        return file
    }

    // MARK: A closed output

    @Test func aReaderThatGoesAwayEndsTheProcessSilently() throws {
        let big = try self.makeBigFile()
        let launches = [
            Launch("cat", big), Launch("cat", big).with { $0.prelude = "trap '' PIPE" },
            Launch("cat", big).with { $0.blockedSignals = [SIGPIPE] },
        ]
        for launch in launches {
            let process = try launch.start()
            process.waitForOutput(1)
            process.closeOutput()
            let outcome = process.finish()
            #expect(outcome.ending == .signal(SIGPIPE))
            #expect(outcome.errorText == "")
        }
    }

    @Test func inAPipelineTheReaderGetsWhatItTakes() throws {
        let launch = Launch(raw: []).with {
            $0.program = "/bin/sh"
            $0.arguments = ["-c", "\"$0\" cat \"$1\" | head -c 1", Launch.blob, self.file].map { Array($0.utf8) }
        }
        expect(try launch.run(), prints: "h")
    }

    @Test func aResultThatNobodyReadsEndsTheProcessSilently() throws {
        // It waits for its input, so the pipe is closed before it prints.
        let process = try Launch("sum", "-").start()
        process.closeOutput()
        process.closeInput()
        let outcome = process.finish()
        #expect(outcome.ending == .signal(SIGPIPE))
        #expect(outcome.errorText == "")
    }

    // MARK: Interrupts

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(CInt, CInt)])
    func aSignalEndsAWaitForInput(signal: CInt, status: CInt) throws {
        // The first byte says that the signals are handled; the FIFO never has a writer.
        let process = try Launch("cat", self.file, self.fifo).start()
        process.waitForOutput(5)
        let start = ContinuousClock.now
        process.send(signal)
        expect(process.finish(), failsWith: "cancelled", status, after: Array("hello".utf8))
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func anInterruptEndsAWaitForASilentWriter() throws {
        for command in ["cat", "sum"] {
            let process = try Launch(command, self.fifo).start()
            let writer = try opened(self.fifo, O_WRONLY)
            defer { close(writer) }
            process.send(SIGINT)
            expect(process.finish(), failsWith: "cancelled", 130)
        }
    }

    @Test func anInterruptEndsAWaitForAList() throws {
        for arguments in [["--from-file", "-"], [self.file, "--ranges", "-"]] {
            let process = try Launch(["cat"] + arguments).start()
            process.write(Array((arguments.count == 2 ? "\(self.file)\n" : "0 5\n").utf8))
            process.waitForOutput(5)
            process.send(SIGINT)
            expect(process.finish(), failsWith: "cancelled", 130, after: Array("hello".utf8))
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalLeavesNoTemporaryFile(signal: CInt) throws {
        let target = self.folder.path("target")
        for isOld in [false, true] {
            if isOld { try self.folder.write("old", to: "target") }
            let process = try Launch("cat", self.file, self.fifo, "--output", target).start()
            let writer = try opened(self.fifo, O_WRONLY)
            defer { close(writer) }
            process.send(signal)
            expect(process.finish(), failsWith: "cancelled", 128 + signal)
            #expect(self.folder.names == ["a", "fifo"] + (isOld ? ["target"] : []))
            #expect(self.folder.read("target") == (isOld ? "old" : nil))
        }
    }

    @Test func anInterruptEndsAWriteThatNobodyTakes() throws {
        let process = try Launch("cat", try self.makeBigFile()).start()
        process.waitForOutput(1)
        process.send(SIGINT)
        let outcome = process.finish(readsOutput: false)
        #expect(outcome.ending == .status(130))
        #expect(outcome.errorText.hasPrefix("blob: cancelled: "))
        #expect(outcome.errors.count { $0 == UInt8(ascii: "\n") } == 1)
        let isZero = outcome.output.allSatisfy { $0 == 0 }
        #expect(isZero)
    }

    @Test func anInterruptEndsAWriteToAFIFOThatNobodyTakes() throws {
        let process = try Launch("cat", try self.makeBigFile(), "--output", self.fifo).start()
        let reader = try opened(self.fifo, O_RDONLY)
        defer { close(reader) }
        process.send(SIGINT)
        let outcome = process.finish()
        #expect(outcome.ending == .status(130))
        #expect(self.folder.names == ["a", "big", "fifo"])
    }

    @Test func aSecondInterruptChangesNothing() throws {
        let process = try Launch("cat", self.file, self.fifo, "--output", self.folder.path("target")).start()
        let writer = try opened(self.fifo, O_WRONLY)
        defer { close(writer) }
        for _ in 0..<5 { process.send(SIGINT) }
        expect(process.finish(), failsWith: "cancelled", 130)
        #expect(self.folder.names == ["a", "fifo"])
    }

    @Test(arguments: [(SIGINT, "INT"), (SIGHUP, "HUP"), (SIGTERM, "TERM")] as [(CInt, String)])
    func aSignalThatTheParentIgnoresStaysIgnored(signal: CInt, name: String) throws {
        let process = try Launch("cat", "-").with { $0.prelude = "trap '' \(name)" }.start()
        process.write(Array("before ".utf8))
        process.waitForOutput(7)
        process.send(signal)
        process.write(Array("after".utf8))
        process.closeInput()
        expect(process.finish(), prints: "before after")
    }

    @Test func signalsThatTheParentBlocksStillInterrupt() throws {
        let process = try Launch("cat", self.file, self.fifo).with { $0.blockedSignals = [SIGINT] }.start()
        process.waitForOutput(5)
        process.send(SIGINT)
        expect(process.finish(), failsWith: "cancelled", 130, after: Array("hello".utf8))
    }
}
#endif
