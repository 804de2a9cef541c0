#if Command
import ArgumentParser
import BlobStreamsStandard

/// The errors of individual sources, after which a command continues with the other sources, as cat(1) does.
final class SourceFailures {
    private let isFailFast: Bool
    private var firstError: BlobError?
    private var status: Int32?

    /// - Parameter isFailFast: True to end the command at the first error.
    init(isFailFast: Bool) { self.isFailFast = isFailFast }

    /// Reports an error, unless `isSilent` is true.
    ///
    /// - Parameters:
    ///   - mayContinueAtLimit: True if a limit applies to one source only, so that others can still be read.
    ///   - status: The exit status if this is the first error; nil for the status of its code.
    /// - Throws: The error itself if the command ends at the first error, or if the other sources cannot be read either
    ///   because the job is cancelled, a limit common to all sources is reached, or the output is closed.
    func record(
        _ error: any Error, isSilent: Bool = false, mayContinueAtLimit: Bool = false, status: Int32? = nil
    ) throws(BlobError) {
        let error = BlobError(wrapping: error)
        guard !self.isFailFast, error.code != .cancelled, error.code != .limitExceeded || mayContinueAtLimit,
            error.operation != "write"
        else { throw error }
        if !isSilent { report(error) }
        if self.firstError == nil { (self.firstError, self.status) = (error, status) }
    }

    /// Reports an error that ends the command.
    ///
    /// - Throws: The exit status of the first error; the error itself if no error came before it, or if the job is
    ///   cancelled.
    func end(with error: any Error) throws -> Never {
        let error = BlobError(wrapping: error)
        guard let first = self.firstError, error.code != .cancelled else { throw error }
        report(error)
        throw ExitCode(self.status ?? first.code.exitStatus)
    }

    /// Throws the exit status of the first error, if any.
    func end() throws {
        if let first = self.firstError { throw ExitCode(self.status ?? first.code.exitStatus) }
    }
}
#endif
