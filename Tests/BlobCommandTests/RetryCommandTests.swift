#if Command
import BlobTestSupport
import Foundation
import Testing

/// The options for errors that another attempt helps against, and for limits: of a command whose system calls fail.
@Suite(.enabled(if: isLinux)) struct RetryCommandTests {
    /// A library that makes system calls fail for want of memory or descriptors.
    private static let shim = Result {
        let folder = try TemporaryFolder()
        let code = #"""
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <stdarg.h>
            #include <stdlib.h>
            #include <string.h>
            #include <sys/stat.h>
            #include <sys/syscall.h>
            #include <unistd.h>

            static int number(const char *name) { return getenv(name) ? atoi(getenv(name)) : 0; }

            // Each FAIL_EVERY-th read of the file with FAIL_SIZE bytes.
            ssize_t pread64(int file, void *buffer, size_t count, off_t offset) {
                static int calls;
                struct stat status;
                if (number("FAIL_EVERY") && fstat(file, &status) == 0 && status.st_size == number("FAIL_SIZE")
                    && ++calls % number("FAIL_EVERY") == 0) { errno = ENOMEM; return -1; }
                return syscall(SYS_pread64, file, buffer, count, offset);
            }
            ssize_t pread(int file, void *buffer, size_t count, off_t offset) {
                return pread64(file, buffer, count, offset);
            }

            // The first FAIL_OPENS openings of the file at FAIL_PATH.
            static int opened(int folder, const char *path, int flags, va_list more) {
                static int calls;
                if (getenv("FAIL_PATH") && strcmp(path, getenv("FAIL_PATH")) == 0 && calls++ < number("FAIL_OPENS")) {
                    errno = EMFILE;
                    return -1;
                }
                return syscall(SYS_openat, folder, path, flags, va_arg(more, int));
            }
            int openat64(int folder, const char *path, int flags, ...) {
                va_list more;
                va_start(more, flags);
                return opened(folder, path, flags, more);
            }
            int openat(int folder, const char *path, int flags, ...) {
                va_list more;
                va_start(more, flags);
                return opened(folder, path, flags, more);
            }
            """#
        try folder.write(code, to: "shim.c")
        try folder.run("cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c")
        return folder
    }

    private let folder: TemporaryFolder
    private let content = makeContent(2_000_000)
    private let file: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.file = try self.folder.write(self.content, to: "content")
    }

    private func launch(_ arguments: [String], _ variables: String) throws -> Launch {
        let shim = try Self.shim.get().path("shim.so")
        return Launch(arguments).with { $0.prelude = "export LD_PRELOAD=\(shim) \(variables)" }
    }

    /// A command that fails at each third read of the file.
    private func failing(_ arguments: String...) throws -> Launch {
        try self.launch(arguments, "FAIL_EVERY=3 FAIL_SIZE=\(self.content.count)")
    }

    private func expectNotices(_ outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(outcome.ending == .status(0), "\(outcome.errorText)", sourceLocation: sourceLocation)
        let lines = outcome.errorText.split(separator: "\n")
        #expect(lines.count >= 2, sourceLocation: sourceLocation)
        let recovered = /blob: recovered: continuing at byte \d+ of the source\./
        let again = /blob: trying again, 1 of \d, from byte \d+/
        for line in lines {
            #expect(line.wholeMatch(of: recovered) != nil || line.wholeMatch(of: again) != nil, "\(line)")
        }
    }

    @Test func readingGoesOnAtTheByteReached() throws {
        let outcome = try self.failing("cat", "--retry", "2", "--resume", self.file).run()
        self.expectNotices(outcome)
        let isEqual = outcome.output == self.content
        #expect(isEqual)
        let alone = try self.failing("cat", "--resume", self.file, "--offset", "1000").run()
        self.expectNotices(alone)
        let isEqualFromThere = alone.output == Array(self.content[1000...])
        #expect(isEqualFromThere)
    }

    @Test func aNoticeIsOnALineOfItsOwnBesideProgress() throws {
        let launch = try self.failing("cat", self.file, "--resume", "--progress", "always", "--limit-rate", "4M")
        let text = try launch.run().errorText
        #expect(text.contains("%"))
        // The line of progress is erased before a notice.
        for part in text.components(separatedBy: "blob: recovered").dropLast() {
            #expect(part.isEmpty || part.hasSuffix("\r") || part.hasSuffix("\n"), "\(text.debugDescription)")
        }
    }

    @Test func withoutResumeOnlyTheBeginningIsTriedAgain() throws {
        for options in [[], ["--retry", "2"]] {
            let outcome = try self.launch(
                ["cat", self.file] + options, "FAIL_EVERY=3 FAIL_SIZE=\(self.content.count)"
            ).run()
            expect(outcome, failsWith: "io", 74, after: Array(self.content.prefix(outcome.output.count)))
        }
        let variables = "FAIL_PATH=\(self.file) FAIL_OPENS=2"
        let outcome = try self.launch(["cat", self.file, "--retry", "2"], variables).run()
        #expect(outcome.ending == .status(0))
        #expect(
            outcome.errorText
                == "blob: trying again, 1 of 2, from byte 0\nblob: trying again, 2 of 2, from byte 0\n"
                + "blob: recovered: continuing at byte 0 of the source.\n")
        #expect(try self.launch(["cat", "-q", self.file, "--retry", "2"], variables).run().errorText == "")
        let isEqual = outcome.output == self.content
        #expect(isEqual)
        expect(try self.launch(["cat", "-q", self.file, "--retry", "1"], variables).run(), failsWith: "io", 74)
        expect(try self.launch(["cat", self.file], variables).run(), failsWith: "io", 74)
    }

    @Test func digestsAndFilesAreWhole() throws {
        let digest = try Launch("sum", self.file).run().output
        let sum = try self.failing("sum", self.file, "--retry", "2", "--resume").run()
        self.expectNotices(sum)
        #expect(sum.output == digest)
        let output = self.folder.path("copy")
        self.expectNotices(try self.failing("cat", self.file, "--retry", "2", "--resume", "--output", output).run())
        let isEqual = try readFile(output) == self.content
        #expect(isEqual)
    }

    /// The archive is read again from the byte at which its reading failed, and not the member.
    @Test func whatAMemberIsReadFromIsTriedAgain() throws {
        try self.folder.run("python3", "-m", "zipfile", "-c", "x.zip", "content")
        let archive = self.folder.path("x.zip")
        let byteCount = try readFile(archive).count
        let launch = try self.launch(
            ["cat", "\(archive)#content", "--retry", "2", "--resume"], "FAIL_EVERY=3 FAIL_SIZE=\(byteCount)")
        let outcome = try launch.run()
        self.expectNotices(outcome)
        let isEqual = outcome.output == self.content
        #expect(isEqual)
    }

    @Test func theIdleTimeoutIsThatOfAnAttempt() throws {
        let fifo = try self.folder.makeFIFO("fifo")
        let process = try Launch("cat", fifo, "--retry", "2", "--resume", "--idle-timeout", "0.2").start()
        let writer = try opened(fifo, O_WRONLY)
        defer { close(writer) }
        #expect(write(writer, "hello", 5) == 5)
        // A FIFO is read only once.
        expect(process.finish(), failsWith: "timedOut", 75, after: Array("hello".utf8))
    }

    @Test func theRateIsThatOfAllLocators() throws {
        let files = try (0..<4).map { try self.folder.write(Array(self.content.prefix(20_480)), to: "\($0)") }
        let start = ContinuousClock.now
        let outcome = try Launch(["cat", "--limit-rate", "200k"] + files).run()
        #expect(outcome.output.count == 4 * 20_480 && outcome.errorText == "")
        // A tenth of a second's bytes come at once.
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        expect(try Launch("cat", self.file, "--limit-rate", "1G").run(), prints: self.content)
    }

    /// Of a store and of a resumable upload, too, for which other numbers are the default.
    @Test func noRetryIsOneRequest() throws {
        let server = try RecordingServer { _ in RecordingServer.answer("503 Service Unavailable") }
        let url = "http://127.0.0.1:\(server.port)"
        for (number, arguments) in [
            ["s3://bucket/key", "--endpoint-url", url], ["\(url)/files/", "--resumable", "tus"], ["\(url)/files/"],
        ].enumerated() {
            let launch = Launch(["upload", self.file] + arguments + ["--retry", "0"]).with {
                $0.prelude = "export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=key"
            }
            let outcome = try launch.run()
            #expect(outcome.ending != .status(0) && outcome.errorText.contains("503"), "\(outcome.errorText)")
            #expect(server.requests.count == number + 1, "\(arguments)")
        }
    }

    @Test func theRateIsThatOfAllUploads() throws {
        let server = try RecordingServer { _ in RecordingServer.answer("201 Created") }
        let files = try (0..<6).map { try self.folder.write(Array(self.content.prefix(20_480)), to: "\($0)") }
        let start = ContinuousClock.now
        let url = "http://127.0.0.1:\(server.port)/"
        let outcome = try Launch(["upload", "--limit-rate", "200k", "--jobs", "6"] + files + [url]).run()
        #expect(outcome.ending == .status(0) && server.requests.count == 6, "\(outcome.errorText)")
        // The first twentieth of a second's bytes come at once.
        #expect(ContinuousClock.now - start >= .milliseconds(500))
    }

    @Test func theRateIsThatOfAllMembers() throws {
        let names = (0..<6).map { "\($0)" }
        for name in names { _ = try self.folder.write(Array(self.content.prefix(20_480)), to: name) }
        let paths = [try self.folder.pack(names, into: "six.tar"), "-C", self.folder.path("out")]
        let start = ContinuousClock.now
        let outcome = try Launch(["extract"] + paths + ["--limit-rate", "200k"]).run()
        #expect(outcome.ending == .status(0), "\(outcome.errorText)")
        #expect(ContinuousClock.now - start >= .milliseconds(500))
    }

    @Test func tooHighARatioIsALimit() throws {
        try self.folder.run("sh", "-c", "head -c 33554432 /dev/zero | gzip > zeros.gz")
        let locator = "gzip+\(self.folder.path("zeros.gz"))"
        let cat = try Launch("cat", locator, "--max-ratio", "200").run()
        expect(cat, failsWith: "limitExceeded", 65, saying: "200 to 1", after: Array(cat.output))
        #expect(cat.output.count > 1 << 20 && cat.output.count < 8 << 20)
        let sum = try Launch("sum", locator, "--max-ratio", "200").run()
        expect(sum, failsWith: "limitExceeded", 65, saying: "200 to 1")
        #expect(try Launch("cat", locator, "--max-ratio", "1100").run().output.count == 33_554_432)
    }
}
#endif
