#if Command
import BlobTestSupport
import Foundation
import Testing

/// A process that runs; its pipes are served while it is waited for, so that none fills up for ever.
final class RunningProcess {
    /// Far beyond what any test takes: a process that hangs is killed, and its test fails.
    private static let patience = Duration.seconds(60)

    /// Between the making of a descriptor and its being marked, no other process may start and inherit it.
    private static let startLock = NSLock()

    private let number: pid_t
    private let deadline = ContinuousClock.now + RunningProcess.patience
    private var inputEnd: CInt?
    private var outputEnd: CInt?
    private var errorEnd: CInt?
    private var pending: ArraySlice<UInt8> = []
    private var closesInput = false
    private var ending: Ending?

    /// What came so far.
    private(set) var output: [UInt8] = []
    private(set) var errors: [UInt8] = []

    init(_ launch: Launch) throws {
        Self.startLock.lock()
        defer { Self.startLock.unlock() }
        let input = try Connection(launch.input, to: STDIN_FILENO)
        let output = try Connection(launch.output, to: STDOUT_FILENO)
        let errors = try Connection(launch.errors, to: STDERR_FILENO)
        defer { for connection in [input, output, errors] { connection.closeTheirs() } }
        self.number = try spawn(launch, [input, output, errors])
        (self.inputEnd, self.outputEnd, self.errorEnd) = (input.ours, output.ours, errors.ours)
    }

    deinit {
        if self.ending == nil {
            kill(self.number, SIGKILL)
            self.reap()
        }
        self.close(&self.inputEnd)
        self.close(&self.outputEnd)
        self.close(&self.errorEnd)
    }

    /// Gives bytes to its standard input, of which it takes some while it is waited for.
    func write(_ bytes: [UInt8]) { self.pending += bytes }

    /// Ends its standard input once all bytes are taken.
    func closeInput() {
        self.closesInput = true
        if self.pending.isEmpty { self.close(&self.inputEnd) }
    }

    /// Closes the end of the pipe that its output goes to.
    func closeOutput() { self.close(&self.outputEnd) }

    /// Its number of threads now; nil where the system does not tell.
    var threadCount: Int? {
        let text = try? String(contentsOfFile: "/proc/\(self.number)/status", encoding: .utf8)
        let line = text?.split(separator: "\n").first { $0.hasPrefix("Threads:") }
        return line?.split(separator: "\t").last.flatMap { Int($0) }
    }

    /// Its resident memory in bytes; 0 where the system does not tell.
    var residentByteCount: Int { BlobTestSupport.residentByteCount(ofProcess: self.number) }

    func send(_ signal: CInt) { kill(self.number, signal) }

    /// Waits until it has printed so many bytes in all; takes hardly more than those.
    func waitForOutput(_ byteCount: Int) {
        self.serve { self.output.count < byteCount && self.outputEnd != nil }
        #expect(self.output.count >= byteCount, "\(String(decoding: self.errors, as: UTF8.self))")
    }

    /// Gives it its input until something is so that this process gets no event for.
    func wait(until isDone: () -> Bool) {
        // Asked once: the question may have effects.
        var isOver = isDone()
        while !isOver, ContinuousClock.now < self.deadline {
            if let inputEnd, !self.pending.isEmpty {
                var request = pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0)
                if poll(&request, 1, 10) > 0 { self.writePending(to: inputEnd) }
            } else {
                poll(nil, 0, 10)
            }
            isOver = isDone()
        }
        #expect(isOver)
    }

    /// Waits for its end, or, if `readsOutput` is false, leaves its output in the pipe.
    func finish(readsOutput: Bool = true) -> Outcome {
        self.serve(readsOutput: readsOutput) {
            self.errorEnd != nil || readsOutput && self.outputEnd != nil
        }
        self.reap()
        return Outcome(output: self.output, errors: self.errors, ending: self.ending ?? .status(-1))
    }

    private func reap() {
        guard self.ending == nil else { return }
        var status: CInt = 0
        while waitpid(self.number, &status, 0) < 0, errno == EINTR {}
        // As WIFSIGNALED, WTERMSIG and WEXITSTATUS have it, which are macros.
        let signal = status & 0x7F
        self.ending = signal == 0 ? .status(status >> 8 & 0xFF) : .signal(signal)
    }

    // MARK: Pipes

    private func serve(readsOutput: Bool = true, while isNeeded: () -> Bool) {
        while isNeeded() {
            var requests: [pollfd] = []
            if let inputEnd, !self.pending.isEmpty {
                requests.append(pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0))
            }
            for case let end? in [readsOutput ? self.outputEnd : nil, self.errorEnd] {
                requests.append(pollfd(fd: end, events: Int16(POLLIN), revents: 0))
            }
            let rest = ContinuousClock.now.duration(to: self.deadline)
            let count = poll(&requests, nfds_t(requests.count), CInt(max(0, rest.components.seconds * 1000)))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                Issue.record("The process neither ended nor printed what was waited for: \(self.errors.count) errors.")
                kill(self.number, SIGKILL)
                return
            }
            for request in requests where request.revents != 0 {
                if request.fd == self.inputEnd { self.writePending(to: request.fd) }
                if request.fd == self.outputEnd { self.read(&self.outputEnd, into: &self.output) }
                if request.fd == self.errorEnd { self.read(&self.errorEnd, into: &self.errors) }
            }
        }
    }

    private func writePending(to end: CInt) {
        let count = withoutSIGPIPE { self.pending.withUnsafeBytes { Foundation.write(end, $0.baseAddress, $0.count) } }
        if count >= 0 { self.pending = self.pending.dropFirst(count) }
        // A process that takes no more is none of this side's errors.
        if count < 0, errno != EAGAIN, errno != EINTR { self.pending = [] }
        if self.pending.isEmpty, self.closesInput { self.close(&self.inputEnd) }
    }

    private func read(_ end: inout CInt?, into bytes: inout [UInt8]) {
        guard let descriptor = end else { return }
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            if count == 0 { self.close(&end) }
        }
    }

    private func close(_ end: inout CInt?) {
        end.map { _ = Foundation.close($0) }
        end = nil
    }
}

/// Runs `body` so that a pipe without a reader is an error to this thread, and not the end of all tests.
private func withoutSIGPIPE<Value>(_ body: () -> Value) -> Value {
    var pipeSignal = sigset_t()
    var old = sigset_t()
    sigemptyset(&pipeSignal)
    sigaddset(&pipeSignal, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipeSignal, &old)
    let value = body()
    let number = errno
    var waiting = sigset_t()
    sigpending(&waiting)
    if sigismember(&waiting, SIGPIPE) == 1, sigismember(&old, SIGPIPE) == 0 {
        var signal: CInt = 0
        sigwait(&pipeSignal, &signal)
    }
    pthread_sigmask(SIG_SETMASK, &old, nil)
    errno = number
    return value
}
#endif
