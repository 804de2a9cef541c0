package import BlobCore

/// A source whose readers fail after a number of bytes each, with an error that trying again helps against.
package struct FlakySource: ForwardingSource {
    package let base: any BlobInputStreamDataSource
    private let byteCount: Int
    private let error: BlobError
    private let openings: Recorder<Int64>

    /// - Parameters:
    ///   - byteCount: The number of bytes after which a reader fails, from 0.
    ///   - openings: Receives the offset of each opening.
    package init(
        _ base: any BlobInputStreamDataSource, failingAfter byteCount: Int,
        with error: BlobError = BlobError(.unavailable, "The line was cut."), openings: Recorder<Int64> = Recorder()
    ) {
        (self.base, self.byteCount, self.error, self.openings) = (base, byteCount, error, openings)
    }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.base.makeReader(at: byteOffset, matching: validator, context: context)
        self.openings.append(byteOffset)
        return FlakyReader(reader, self.byteCount, self.error)
    }
}

private final class FlakyReader: ForwardingReader {
    let base: any BlobPluginReader
    private var rest: Int
    private let error: BlobError

    init(_ base: any BlobPluginReader, _ rest: Int, _ error: BlobError) {
        (self.base, self.rest, self.error) = (base, rest, error)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard self.rest > 0 else { throw self.error }
        let start = output.byteCount
        let result = try self.base.read(into: &output, atMost: self.rest)
        self.rest -= output.byteCount - start
        return result
    }
}

extension BlobRetry {
    /// Rules for tests: the delays are a millisecond at most.
    package static var impatient: BlobRetry {
        BlobRetry(maximumFailureCount: 3, maximumDelays: .milliseconds(1)...(.milliseconds(1)))
    }
}
