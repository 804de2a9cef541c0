import ArchiveExchange
import BlobCore
import BlobPlatform
import CArchiveHelper

/// A helper process that reads one archive; ends with this object. Has one owner.
final class HelperProcess {
    /// The process, which its owner and a cancelled job end.
    private final class Life: Sendable {
        private let process: Locked<pid_t?>

        init(_ process: pid_t) { self.process = Locked(process) }

        /// Ends the process without waiting; under the lock, so that its number is not given to another meanwhile.
        func kill() { self.process.withLock { if let process = $0 { blob_kill_helper(process) } } }

        /// Ends the process and waits for its end; nil when that was done before.
        func end() -> (signal: CInt, status: CInt)? {
            guard let process = self.process.take() else { return nil }
            var status: CInt = 0
            let signal = blob_end_helper(process, &status)
            return (signal, status)
        }

        /// The processor time that the process took, in milliseconds; nil when it is not known.
        var processorTime: Int64? {
            let time = self.process.withLock { $0.map { blob_processor_time($0) } ?? -1 }
            return time < 0 ? nil : time
        }
    }

    /// The variables of the environment that the helper gets: where libraries are, and the local time.
    private static let variables = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ", "ASAN_OPTIONS", "TSAN_OPTIONS"]
    /// The longest time between two checks of limits, in milliseconds.
    private static let checkInterval: CInt = 100

    let memory: ExchangeMemory
    private let channel: ExchangeChannel
    private let life: Life
    private let context: BlobContext
    private let cancelling: BlobRegistration
    private var progress = HelperProgress()
    private(set) var failure: BlobError?

    init(_ path: String, _ arguments: [String], _ context: BlobContext) throws(BlobError) {
        try context.check()
        var sockets: [CInt] = [-1, -1]
        let error = blob_make_sockets(&sockets, Self.checkInterval)
        guard error == 0 else { throw BlobError(systemError: error, doing: "Could not connect with a helper") }
        // Owns the first socket from here on.
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
            Self.withTexts(Self.environment) { environment in
                blob_start_helper(path, words, environment, sockets[1], shared, &process)
            }
        }
        guard started == 0 else { throw BlobError(systemError: started, doing: "Could not start the helper \(path)") }
        let life = Life(process)
        self.life = life
        self.context = context
        self.cancelling = context.cancellation.onCancel { life.kill() }
    }

    deinit {
        self.cancelling.cancel()
        _ = self.life.end()
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
            guard let first = pointers.baseAddress else { preconditionFailure("There is one element at least.") }
            return body(first)
        }
    }

    /// Sends a command and returns the answer to it; answers the questions before that with `needed`.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of answers that the command has, besides an error.
    ///   - needed: Reads bytes of the archive into the shared memory; returns their number, 0 at the end.
    /// - Throws: ``BlobError/Code/corrupted`` when the helper crashes or makes no progress; any error of `needed`; the
    ///   errors of the context. After an error the helper is gone.
    func answer(
        to command: ExchangeFrame, _ kinds: [ExchangeFrame.Kind],
        _ needed: (Int64, Int) throws(BlobError) -> Int
    ) throws(BlobError) -> ExchangeFrame {
        if let failure { throw failure }
        do throws(BlobError) {
            self.progress.begin(self.life.processorTime)
            try self.send(command)
            while true {
                let frame = try self.receive()
                if frame.kind == .error || kinds.contains(frame.kind) { return frame }
                guard frame.kind == .need else { throw Self.isMalformed }
                let wanted = 1...Int64(ExchangeMemory.inputByteCount)
                guard frame.a >= 0, wanted.contains(frame.b) else { throw Self.isMalformed }
                try self.progress.need(frame.a, self.life.processorTime)
                let count = try needed(frame.a, Int(frame.b))
                self.progress.resume()
                try self.send(ExchangeFrame(.bytes, a: Int64(count)))
            }
        } catch {
            self.failure = error
            self.cancelling.cancel()
            _ = self.life.end()
            throw error
        }
    }

    private func send(_ frame: ExchangeFrame) throws(BlobError) {
        do throws(ExchangeChannel.Failure) {
            try self.channel.send(frame)
        } catch {
            throw self.error(of: error)
        }
    }

    private func receive() throws(BlobError) -> ExchangeFrame {
        let limit = self.context.stepLimit()
        let result = try self.channel.receive { () throws(BlobError) in
            try self.context.check()
            if limit.remaining == .zero { throw limit.error(idleLimit: self.context.idleLimit) }
            try self.progress.check(self.life.processorTime)
        }
        do throws(ExchangeChannel.Failure) {
            return try result.get()
        } catch {
            throw self.error(of: error)
        }
    }

    private static var isMalformed: BlobError {
        BlobError(.corrupted, "The helper process gave an answer that makes no sense.")
    }

    private func error(of failure: ExchangeChannel.Failure) -> BlobError {
        switch failure {
        case .malformed: return Self.isMalformed
        case .system(let number): return BlobError(systemError: number, doing: "Could not ask the helper")
        case .closed: break
        }
        // A job that was cancelled ended the helper.
        do throws(BlobError) { try self.context.check() } catch { return error }
        guard let end = self.life.end() else { return BlobError(.closed, "The helper was ended.") }
        let how =
            end.signal != 0
            ? "was ended by signal \(end.signal) (\(String(cString: strsignal(end.signal))))"
            : "ended with status \(end.status)"
        return BlobError(.corrupted, "The helper process \(how).")
    }
}
