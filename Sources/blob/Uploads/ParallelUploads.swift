#if Command
import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

/// Uploads many sources, several at once; a failed upload does not stop the others.
final class ParallelUploads: Sendable {
    private let items: UploadItems
    private let output: AnswerOutput
    /// The error that determines the exit status: the first permanent error, or otherwise the first error.
    private let worstError = Locked<BlobError?>(nil)

    init(_ items: UploadItems, _ output: AnswerOutput) { (self.items, self.output) = (items, output) }

    /// Uploads all items, blocking this thread.
    ///
    /// - Parameters:
    ///   - count: The number of concurrent uploads.
    ///   - upload: Uploads an item, identified by its number.
    /// - Throws: The error that ended the job; otherwise, after all errors are printed, the exit status of the worst
    ///   error.
    func run(
        atOnce count: Int, _ context: BlobContext,
        _ upload: @escaping @Sendable (_ number: Int, _ item: UploadItem) async throws(BlobError) -> Void
    ) throws {
        for error in self.items.errors { self.record(error) }
        defer { self.output.flushErrors() }
        _ = try waiting { [self] () throws(BlobError) in
            try await concurrently(self.items.items.count, atOnce: count) { (number) async throws(BlobError) in
                do throws(BlobError) {
                    try context.check()
                    try await upload(number, self.items.items[number])
                } catch {
                    // Without standard output, or after the job has ended, nothing is left to do.
                    let isOver = (try? context.check()) == nil || error.operation == "write" && error.locator == nil
                    guard !isOver else { throw error }
                    self.output.endProgress(number)
                    self.record(error)
                }
            }
        }
        try self.output.commit()
        if let worstError = self.worstError.withLock({ $0 }) { throw ExitCode(worstError.code.exitStatus) }
    }

    private func record(_ error: BlobError) {
        self.output.report(error)
        self.worstError.withLock { worstError in
            if worstError.map({ $0.isTransient && !error.isTransient }) ?? true { worstError = error }
        }
    }
}
#endif
