#if Command
import ArgumentParser
import BlobStreamsStandard

/// The errors of single sources, after which a command continues with the others, as cat(1) does.
final class SourceFailures {
    private let isFailFast: Bool
    private var first: BlobError?

    /// - Parameter isFailFast: True to end the command at the first error.
    init(isFailFast: Bool) { self.isFailFast = isFailFast }

    /// Reports an error, unless `isSilent` is true.
    ///
    /// - Parameter mayContinueAtLimit: True when a limit is for one source, after which others can be read.
    /// - Throws: The error itself when the others cannot be read either: the job is cancelled, a limit of all of them
    ///   reached, or the output closed.
    func note(
        _ error: any Error, isSilent: Bool = false, mayContinueAtLimit: Bool = false
    ) throws(BlobError) {
        let error = BlobError(wrapping: error)
        guard !self.isFailFast, error.code != .cancelled, error.code != .limitExceeded || mayContinueAtLimit,
            error.operation != "write"
        else { throw error }
        if !isSilent { report(error) }
        self.first = self.first ?? error
    }

    /// Reports an error that ends the command.
    ///
    /// - Throws: The exit status of the first error; the error itself when there was none before, or the job is cancelled.
    func end(with error: any Error) throws -> Never {
        let error = BlobError(wrapping: error)
        guard let first, error.code != .cancelled else { throw error }
        report(error)
        throw ExitCode(first.code.exitStatus)
    }

    /// Throws the exit status of the first error, if there was one.
    func end() throws {
        if let first { throw ExitCode(first.code.exitStatus) }
    }
}
#endif
