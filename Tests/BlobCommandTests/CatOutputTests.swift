#if Command
import BlobTestSupport
import Foundation
import Testing

/// `cat --output`: the file appears when it is whole, or not at all.
@Suite struct CatOutputTests {
    private let folder: TemporaryFolder
    private let file: String
    private let target: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write("hello", to: "a")
        self.target = self.folder.path("target")
    }

    @Test func aNewFileGetsTheBytesAndTheUsualMode() throws {
        for option in ["--output", "-o"] {
            let launch = Launch("cat", self.file, self.file, option, self.target)
            expect(try launch.with { $0.prelude = "umask 027" }.run(), prints: "")
            #expect(self.folder.read("target") == "hellohello")
            #expect(try self.folder.mode("target") == 0o640)
            unlink(self.target)
        }
        #expect(self.folder.names == ["a"])
    }

    @Test func aNameRelativeToTheFolderIsFine() throws {
        for name in ["t", "./t", "é", "target", "./target", "-target", "ta rget", "target#1", "t+a:r%20"] {
            let launch = Launch("cat", "a", "--output=\(name)").inFolder(self.folder)
            expect(try launch.run(), prints: "")
            #expect(self.folder.read(name) == "hello")
        }
    }

    @Test func anOldFileIsReplacedAndItsModeKept() throws {
        for mode: mode_t in [0o600, 0o755, 0o444] {
            try self.folder.write("something longer", to: "target")
            chmod(self.target, mode)
            expect(try Launch("cat", self.file, "--output", self.target).run(), prints: "")
            #expect(self.folder.read("target") == "hello")
            #expect(try self.folder.mode("target") == mode)
            unlink(self.target)
        }
        #expect(self.folder.names == ["a"])
    }

    @Test func theTargetOfALinkIsReplacedAndNotTheLink() throws {
        try self.folder.write("old", to: "target")
        try #require(symlink("target", self.folder.path("link")) == 0)
        expect(try Launch("cat", self.file, "--output", self.folder.path("link")).run(), prints: "")
        #expect(self.folder.read("target") == "hello")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: self.folder.path("link")) == "target")
    }

    @Test func anErrorLeavesTheOldFileAndNothingElse() throws {
        let failures: [(arguments: [String], code: String, status: CInt)] = [
            ([self.file, self.folder.path("none")], "notFound", 66),
            ([self.file, "--offset", "6"], "invalidArgument", 64),
            ([self.file, "--max-bytes", "3"], "limitExceeded", 65), ([self.file, "bogus:"], "notRegistered", 64),
            ([self.file, try self.folder.makeFIFO("fifo"), "--idle-timeout", "0.05"], "timedOut", 75),
        ]
        for isOld in [false, true] {
            if isOld { try self.folder.write("old", to: "target") }
            for failure in failures {
                let outcome = try Launch(["cat", "--output", self.target] + failure.arguments).run()
                expect(outcome, failsWith: failure.code, failure.status)
                #expect(self.folder.read("target") == (isOld ? "old" : nil))
                #expect(self.folder.names == ["a", "fifo"] + (isOld ? ["target"] : []))
            }
        }
    }

    @Test func aFolderThatDoesNotExistIsNotFound() throws {
        expect(
            try Launch("cat", self.file, "--output", self.folder.path("none/target")).run(), failsWith: "notFound", 66,
            saying: "none/target")
    }

    @Test func aTextThatIsNoNameIsRefused() throws {
        for target in ["", self.folder.path("none/")] {
            let outcome = try Launch("cat", self.file, "--output", target).run()
            expect(outcome, failsWith: "invalidArgument", 64, saying: "not a file name")
        }
        #expect(self.folder.names == ["a"])
    }

    @Test func aFolderIsNoTarget() throws {
        expect(try Launch("cat", self.file, "--output", self.folder.path).run(), failsWith: "io", 74)
        #expect(self.folder.names == ["a"])
    }

    @Test(.enabled(if: isLinux)) func aFullDeviceIsAnErrorAndStaysADevice() throws {
        expect(
            try Launch("cat", self.file, "--output", "/dev/full").run(), failsWith: "io", 74, saying: "/dev/full",
            "No space left")
        var status = stat()
        #expect(stat("/dev/full", &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test(.enabled(if: isLinux)) func whereNobodyMayWriteIsPermissionDenied() throws {
        expect(try Launch("cat", self.file, "--output", "/sys/x").run(), failsWith: "permissionDenied", 77)
    }

    @Test func aFIFOIsWrittenToAndStaysAFIFO() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        let process = try Launch("cat", self.file, "--output", fifo).start()
        let reader = try opened(fifo, O_RDONLY)
        defer { close(reader) }
        expect(process.finish(), prints: "")
        var bytes = [UInt8](repeating: 0, count: 10)
        #expect(read(reader, &bytes, 10) == 5)
        #expect(bytes.prefix(5) == Array("hello".utf8)[...])
        var status = stat()
        #expect(stat(fifo, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
        #expect(self.folder.names == ["a", "fifo"])
    }

    /// Whoever owns the file would otherwise run bytes of another user as that user.
    @Test func aFileThatIsReplacedKeepsItsPermissionsWithoutTheSetIDAndStickyBits() throws {
        for (old, new) in [(0o4755, 0o755), (0o2711, 0o711), (0o1640, 0o640), (0o7777, 0o777)] as [(mode_t, mode_t)] {
            let target = try self.folder.write("old", to: "target")
            try #require(chmod(target, old) == 0)
            expect(try Launch("cat", self.file, "--output", target).run(), prints: "")
            #expect(try self.folder.mode("target") == new)
        }
    }

    @Test func theInputMayBeTheTarget() throws {
        expect(try Launch("cat", self.file, self.file, "--output", self.file).run(), prints: "")
        #expect(self.folder.read("a") == "hellohello")
        expect(try Launch("cat", self.file, "--offset", "5", "--length", "4", "-o", self.file).run(), prints: "")
        #expect(self.folder.read("a") == "hell")
        #expect(self.folder.names == ["a"])
    }

    @Test func aFileSizeLimitIsAnErrorThatLeavesNothing() throws {
        try self.folder.write(makeContent(3 << 20), to: "a")
        // In blocks of 512 bytes: 2 MiB, because the thread sanitizer writes a file of its own at its start.
        let launch = Launch("cat", self.file, "--output", self.target).with { $0.prelude = "ulimit -f 4096" }
        expect(try launch.run(), failsWith: "io", 74, saying: "File too large")
        #expect(self.folder.names == ["a"])
    }

    @Test func theFileDoesNotAppearBeforeItIsWhole() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        let process = try Launch("cat", self.file, fifo, "--output", self.target).start()
        let writer = try opened(fifo, O_WRONLY)
        #expect(!self.folder.names.contains("target"))
        #expect(write(writer, " world", 6) == 6)
        close(writer)
        expect(process.finish(), prints: "")
        #expect(self.folder.read("target") == "hello world")
        #expect(self.folder.names == ["a", "fifo", "target"])
    }

    @Test func aLongNameLeavesRoomForTheTemporaryOne() throws {
        // The last is few characters of many bytes each.
        let names = [
            String(repeating: "x", count: 255), String(repeating: "é", count: 127),
            String(repeating: "👨‍👩‍👧‍👦", count: 10),
        ]
        for name in names {
            expect(try Launch("cat", self.file, "--output", self.folder.path(name)).run(), prints: "")
            #expect(self.folder.read(name) == "hello")
        }
        let tooLong = self.folder.path(String(repeating: "x", count: 256))
        let outcome = try Launch("cat", self.file, "--output", tooLong).run()
        expect(outcome, failsWith: "invalidArgument", 64)
        #expect(self.folder.names.count == 4)
    }

    @Test(.enabled(if: isLinux)) func aKilledProcessLeavesNothingWhereFilesNeedNoNames() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        // O_TMPFILE of <fcntl.h>, which Swift does not import.
        let descriptor = open(self.folder.path, O_WRONLY | 0o20_200_000, 0o600)
        guard descriptor >= 0 else { return }
        close(descriptor)
        let process = try Launch("cat", self.file, fifo, "--output", self.target).start()
        let writer = try opened(fifo, O_WRONLY)
        process.send(SIGKILL)
        #expect(process.finish().ending == .signal(SIGKILL))
        close(writer)
        #expect(self.folder.names == ["a", "fifo"])
    }
}
#endif
