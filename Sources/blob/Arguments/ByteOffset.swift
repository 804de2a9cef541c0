import ArgumentParser
import BlobStreamsStandard

/// An offset in bytes, written as a ``ByteCount``; with a `-` before it, one from the end.
struct ByteOffset: ExpressibleByArgument {
    /// Negative from the end.
    let value: Int64

    init?(argument: String) {
        let isFromEnd = argument.hasPrefix("-")
        guard let count = ByteCount(argument: String(argument.dropFirst(isFromEnd ? 1 : 0))) else { return nil }
        self.value = isFromEnd ? -count.value : count.value
    }

    /// Returns an offset from the start of a source: that of a source that is shorter than wanted is 0.
    ///
    /// - Parameter value: The offset, negative from the end, for which the length of the source must be known.
    static func start(_ value: Int64, in source: any BlobInputStreamDataSource, _ context: BlobContext)
        throws(BlobError) -> Int64
    {
        guard value < 0 else { return value }
        guard let byteCount = try source.info(context).byteCount else {
            throw BlobError(
                .unsupported, "The length is not known, so --offset cannot count from the end.", operation: "open",
                locator: source.locator?.description)
        }
        return max(0, byteCount + value)
    }
}
