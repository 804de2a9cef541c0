package import BlobCore
import BlobPlatform
import CHelper
package import HelperExchange

/// A helper process, which ends with this object. Has one owner.
package final class HelperProcess {
    /// The process, which can be ended by its owner and by a cancelled job.
    private final class ChildProcess: Sendable {
        private let process: Locked<pid_t?>

        init(_ process: pid_t) { self.process = Locked(process) }

        /// Ends the process without waiting; under the lock, so that its process ID is not reused meanwhile.
        func kill() { self.process.withLock { if let process = $0 { blob_kill_helper(process) } } }

        /// Ends the process and waits for its end; returns nil if it had already been ended.
        func end() -> (signal: CInt, status: CInt)? {
            guard let process = self.process.take() else { return nil }
            var status: CInt = 0
            let signal = blob_end_helper(process, &status)
            return (signal, status)
        }

        /// The processor time that the process has used, in milliseconds; nil if unknown.
        var processorTime: Int64? {
            let time = self.process.withLock { $0.map { blob_processor_time($0) } ?? -1 }
            return time < 0 ? nil : time
        }
    }

    /// The environment variables that every helper receives: the library paths, the time zone and the options of
    /// sanitizers.
    private static let variables = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ", "ASAN_OPTIONS", "TSAN_OPTIONS"]
    /// The longest time between two checks of limits, in milliseconds.
    private static let checkInterval: CInt = 100

    /// The path of the program, for messages.
    private let path: String
    package let memory: ExchangeMemory
    private let channel: ExchangeChannel
    private let childProcess: ChildProcess
    private let context: BlobContext
    private let cancellationRegistration: BlobRegistration
    private var progress: HelperProgress
    /// The error after which the helper no longer runs; nil while it runs.
    package private(set) var failure: BlobError?

    /// Starts a helper.
    ///
    /// - Parameters:
    ///   - path: The path of the program.
    ///   - variables: Environment variables that precede the others, in the form `NAME=value`.
    ///   - limits: The limits of each command.
    ///   - context: The context of all commands: a cancellation ends the helper.
    /// - Throws: Errors of the context, and of the system.
    package init(
        _ path: String, _ arguments: [String], variables: [String] = [], limits: HelperLimits = HelperLimits(),
        _ context: BlobContext
    ) throws(BlobError) {
        try context.check()
        self.path = path
        self.progress = HelperProgress(limits)
        var sockets: [CInt] = [-1, -1]
        let error = blob_make_sockets(&sockets, Self.checkInterval)
        guard error == 0 else { throw BlobError(systemError: error, doing: "Could not connect to a helper") }
        // This object owns the first socket from here on.
        self.channel = ExchangeChannel(socket: sockets[0])
        defer { blob_close(sockets[1]) }
        let shared = blob_make_shared_memory(ExchangeMemory.byteCount)
        guard shared >= 0 else { throw BlobError(systemError: errno, doing: "Could not share memory with a helper") }
        defer { blob_close(shared) }
        guard let memory = ExchangeMemory(descriptor: shared) else {
            throw BlobError(systemError: errno, doing: "Could not share memory with a helper")
        }
        self.memory = memory
        var process: pid_t = 0
        let started = Self.withTexts([path] + arguments) { words in
            Self.withTexts(variables + Self.environment) { environment in
                blob_start_helper(path, words, environment, sockets[1], shared, &process)
            }
        }
        guard started == 0 else { throw BlobError(systemError: started, doing: "Could not start the helper \(path)") }
        let childProcess = ChildProcess(process)
        self.childProcess = childProcess
        self.context = context
        self.cancellationRegistration = context.cancellation.onCancel { childProcess.kill() }
    }

    deinit {
        self.cancellationRegistration.cancel()
        _ = self.childProcess.end()
    }

    private static var environment: [String] {
        self.variables.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } }
    }

    private static func withTexts<Value>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Value
    ) -> Value {
        let copies = texts.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeBufferPointer { pointers in
            guard let first = pointers.baseAddress else { preconditionFailure("The array must not be empty.") }
            return body(first)
        }
    }

    /// Sends a command and returns its answer; until then, answers the helper's questions with `readInput`.
    ///
    /// - Parameters:
    ///   - descriptors: Open files, of which the helper receives copies.
    ///   - kinds: The kinds of answers to the command, besides an error.
    ///   - readInput: A closure that reads bytes of the input into the shared memory, and returns their number, 0 at
    ///     the end. By default, the helper must not request bytes.
    /// - Throws: ``BlobError/Code/corrupted`` if the helper crashes or computes without progress,
    ///   ``BlobError/Code/timedOut`` if it is silent; any error of `readInput`; errors of the context. After an error,
    ///   the helper no longer runs.
    package func answer(
        to command: ExchangeFrame, descriptors: [CInt] = [], _ kinds: [ExchangeFrame.Kind],
        _ readInput: (Int64, Int) throws(BlobError) -> Int = refuse
    ) throws(BlobError) -> ExchangeFrame {
        try self.step { () throws(BlobError) in
            try self.begin(command, descriptors)
            while true {
                if let answer = try self.receive(kinds, readInput) { return answer }
            }
        }
    }

    /// Queries how the system confines the helper, before the helper receives any input, and reports this to the event
    /// sink.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` if the program is not a helper of this version; errors of
    ///   ``answer(to:descriptors:_:_:)``.
    package func confinement() throws(BlobError) -> HelperConfinement {
        let answer: ExchangeFrame
        do throws(BlobError) {
            answer = try self.answer(to: ExchangeFrame(.greet), [.ready])
        } catch  where error.code == .corrupted {
            throw BlobError(
                .unavailable, "The helper \(self.path) cannot be used: \(error.message)", isTransient: false,
                cause: error)
        }
        guard answer.a == ExchangeFrame.version else {
            throw BlobError(
                .unavailable,
                "The helper \(self.path) uses version \(answer.a) of the protocol, but this program uses version "
                    + "\(ExchangeFrame.version).", isTransient: false)
        }
        let confinement = HelperConfinement(rawValue: answer.b)
        self.context.report(
            BlobEvent(.helperStarted, HelperConfinement.all.subtracting(confinement).rawValue))
        return confinement
    }

    /// Performs a step of a command; after an error, the helper no longer runs.
    func step<Value>(_ body: () throws(BlobError) -> Value) throws(BlobError) -> Value {
        if let failure { throw failure }
        do throws(BlobError) {
            return try body()
        } catch {
            self.failure = error
            self.end()
            throw error
        }
    }

    /// Ends the helper in the middle of a command.
    func abandon() {
        self.failure = self.failure ?? BlobError(.closed, "The helper was terminated.")
        self.end()
    }

    private func end() {
        self.cancellationRegistration.cancel()
        _ = self.childProcess.end()
    }

    /// Sends a command.
    func begin(_ command: ExchangeFrame, _ descriptors: [CInt]) throws(BlobError) {
        self.progress.begin(self.childProcess.processorTime)
        try self.send(command, descriptors)
    }

    /// Restarts the measurement of silence, because the helper had to wait until now.
    func resume() { self.progress.resume() }

    /// Receives a frame: answers a question and returns nil, or returns the answer to the command.
    func receive(
        _ kinds: [ExchangeFrame.Kind], _ readInput: (Int64, Int) throws(BlobError) -> Int
    ) throws(BlobError) -> ExchangeFrame? {
        let frame = try self.receive()
        if frame.kind == .error || kinds.contains(frame.kind) { return frame }
        guard frame.kind == .need else { throw Self.malformedAnswerError }
        let wanted = 1...Int64(ExchangeMemory.inputByteCount)
        guard frame.a >= 0, wanted.contains(frame.b) else { throw Self.malformedAnswerError }
        try self.progress.recordRequest(frame.a, self.childProcess.processorTime)
        let count = try readInput(frame.a, Int(frame.b))
        self.progress.resume()
        try self.send(ExchangeFrame(.bytes, a: Int64(count)))
        return nil
    }

    private func send(_ frame: ExchangeFrame, _ descriptors: [CInt] = []) throws(BlobError) {
        do throws(ExchangeChannel.Failure) {
            try self.channel.send(frame, descriptors)
        } catch {
            throw self.error(of: error)
        }
    }

    private func receive() throws(BlobError) -> ExchangeFrame {
        let limit = self.context.stepLimit()
        let result = try self.channel.receive { () throws(BlobError) in
            try self.checkLimits()
            if limit.remaining == .zero { throw limit.error(idleLimit: self.context.idleLimit) }
        }
        do throws(ExchangeChannel.Failure) {
            return try result.get()
        } catch {
            throw self.error(of: error)
        }
    }

    /// Throws if the job was cancelled or is past its deadline.
    func checkContext() throws(BlobError) { try self.context.check() }

    /// Throws if the job was cancelled or is past its deadline, or if the helper made no progress for too long.
    func checkLimits() throws(BlobError) {
        try self.context.check()
        try self.progress.check(self.childProcess.processorTime)
    }

    /// The socket that becomes readable when the helper sends an answer or a question.
    var socket: CInt { self.channel.socket }

    /// Refuses to read bytes of the input.
    package static func refuse(_ byteOffset: Int64, _ count: Int) throws(BlobError) -> Int {
        throw self.malformedAnswerError
    }

    private static var malformedAnswerError: BlobError {
        BlobError(.corrupted, "The helper process sent an invalid response.")
    }

    private func error(of failure: ExchangeChannel.Failure) -> BlobError {
        switch failure {
        case .malformed: return Self.malformedAnswerError
        case .system(let number): return BlobError(systemError: number, doing: "Could not communicate with the helper")
        case .closed: break
        }
        // A cancelled job has ended the helper.
        do throws(BlobError) { try self.context.check() } catch { return error }
        guard let end = self.childProcess.end() else { return BlobError(.closed, "The helper was terminated.") }
        let how =
            end.signal != 0
            ? "was terminated by signal \(end.signal) (\(String(cString: strsignal(end.signal))))"
            : "exited with status \(end.status)"
        return BlobError(.corrupted, "The helper process \(self.path.split(separator: "/").last ?? "") \(how).")
    }
}

/// The limits on a helper that makes no progress within one command.
package struct HelperLimits: Sendable {
    /// The processor time limit, in milliseconds.
    package var maximumProcessorTime: Int64 = 3000
    /// The longest time in which the helper may neither compute nor send a frame.
    package var maximumSilence = Duration.seconds(60)
    /// The maximum number of questions for bytes that were already requested.
    package var maximumRepetitionCount = 10_000

    package init() {}
}

/// The progress of a helper in one command: an answer, or a request for input bytes that it had not requested before.
///
/// While the helper skips a part, it may not answer for a long time, but it requests further bytes. All values are
/// measured from the start of the command, or from the last progress in it. Where the processor time of another process
/// is unknown, as on macOS, a computing helper is treated as silent, and its processor time is not limited.
struct HelperProgress {
    private let limits: HelperLimits
    /// The processor time of the helper at the last progress, and at the last check; nil if unknown.
    private var (startTime, lastTime): (Int64?, Int64?) = (nil, nil)
    private var silentSince = ContinuousClock.now
    private var repetitionCount = 0
    /// The greatest offset requested, in any command.
    private var furthestOffset: Int64 = -1

    init(_ limits: HelperLimits) { self.limits = limits }

    /// Begins a command.
    ///
    /// - Parameter processorTime: The processor time of the helper so far, in milliseconds; nil if unknown.
    mutating func begin(_ processorTime: Int64?) {
        (self.startTime, self.lastTime, self.silentSince, self.repetitionCount) = (
            processorTime, processorTime, .now, 0
        )
    }

    /// Records a question for bytes at an offset.
    mutating func recordRequest(_ byteOffset: Int64, _ processorTime: @autoclosure () -> Int64?) throws(BlobError) {
        guard byteOffset <= self.furthestOffset else {
            self.furthestOffset = byteOffset
            return self.begin(processorTime())
        }
        self.repetitionCount += 1
        guard self.repetitionCount <= self.limits.maximumRepetitionCount else {
            throw Self.endlessHelperError("read the same parts of its input \(self.repetitionCount) times")
        }
        try self.check(processorTime())
    }

    /// Records that the helper, which waited for the answer to a question, can continue.
    mutating func resume() { self.silentSince = .now }

    /// Throws if the helper made no progress for too long.
    mutating func check(_ processorTime: Int64?) throws(BlobError) {
        if let processorTime, let startTime, processorTime - startTime >= self.limits.maximumProcessorTime {
            throw Self.endlessHelperError("computed for \(self.limits.maximumProcessorTime / 1000) seconds")
        }
        // A computing helper is not silent, even if it receives little processor time.
        if processorTime != self.lastTime { (self.lastTime, self.silentSince) = (processorTime, .now) }
        guard ContinuousClock.now - self.silentSince < self.limits.maximumSilence else {
            throw BlobError(.timedOut, "The helper process did not respond for \(self.limits.maximumSilence).")
        }
    }

    private static func endlessHelperError(_ what: String) -> BlobError {
        BlobError(.corrupted, "The helper process \(what) without progress.")
    }
}
