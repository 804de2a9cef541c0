package import BlobCore
import BlobPlatform
import CHelper
package import HelperExchange

/// The output of one command, which the helper writes to a pipe while it works. Has one owner.
///
/// The helper waits until its output is read, so that memory does not grow with the output.
package final class HelperOutput {
    private let process: HelperProcess
    private let kinds: [ExchangeFrame.Kind]
    private let readInput: (Int64, Int) throws(BlobError) -> Int
    private let pipe: CInt
    /// The answer to the command; nil before the end of the output.
    package private(set) var answer: ExchangeFrame?

    /// Sends a command, with the pipe as its last descriptor.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of answers to the command, besides an error.
    ///   - readInput: A closure that reads bytes of the input into the shared memory, and returns their number, 0 at
    ///     the end.
    /// - Throws: The errors of ``HelperProcess/answer(to:descriptors:_:_:)``.
    package init(
        of process: HelperProcess, to command: ExchangeFrame, descriptors: [CInt] = [], _ kinds: [ExchangeFrame.Kind],
        _ readInput: @escaping (Int64, Int) throws(BlobError) -> Int = HelperProcess.refuse
    ) throws(BlobError) {
        var ends: [CInt] = [-1, -1]
        let error = blob_make_pipe(&ends)
        guard error == 0 else { throw BlobError(systemError: error, doing: "Could not connect to a helper") }
        // This object owns the first end from here on.
        (self.process, self.kinds, self.readInput, self.pipe) = (process, kinds, readInput, ends[0])
        defer { blob_close(ends[1]) }
        try process.step { () throws(BlobError) in try process.begin(command, descriptors + [ends[1]]) }
    }

    deinit {
        blob_close(self.pipe)
        // A helper whose output was not read to its end is still working, and cannot accept other commands.
        if self.answer == nil { self.process.abandon() }
    }

    /// Reads the next bytes, and returns their number. At the end, sets ``answer`` and returns 0.
    ///
    /// An error also ends the output: the bytes before it must not be used.
    ///
    /// - Throws: The errors of ``HelperProcess/answer(to:descriptors:_:_:)``, at each call.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        try self.process.step { () throws(BlobError) in
            self.process.resume()
            while true {
                // A helper that keeps writing must not outlive its job.
                try self.process.checkContext()
                let ready = Int(blob_await_output(self.pipe, self.answer == nil ? self.process.socket : -1))
                if ready & blob_pipe_ready != 0 {
                    let count = blob_read(self.pipe, buffer.baseAddress, buffer.count)
                    guard count >= 0 else {
                        throw BlobError(systemError: errno, doing: "Could not read from a helper")
                    }
                    while count == 0, self.answer == nil { try self.receive() }
                    return count
                }
                if ready & blob_socket_ready != 0 { try self.receive() } else { try self.process.checkLimits() }
            }
        }
    }

    private func receive() throws(BlobError) { self.answer = try self.process.receive(self.kinds, self.readInput) }
}
