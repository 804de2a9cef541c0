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

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let base = try self.base.open(opening)
        self.openings.append(opening.byteOffset)
        return .inspected(base, Flaw(rest: self.byteCount, error: self.error), startingAt: opening.byteOffset)
    }
}

private struct Flaw: BlobInspector {
    var rest: Int
    let error: BlobError

    func readLimit() throws -> BlobReadLimit {
        guard self.rest > 0 else { throw self.error }
        return .bytes(Int64(self.rest))
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
        self.rest -= bytes.byteCount
        return 0..<bytes.byteCount
    }
}

extension BlobRetry {
    /// Rules for tests: the delays are a millisecond at most.
    package static var impatient: BlobRetry {
        BlobRetry(maximumFailureCount: 3, maximumDelays: .milliseconds(1)...(.milliseconds(1)))
    }
}
