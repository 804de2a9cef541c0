/// An event of a job, reported to ``BlobContext/eventSink``.
public struct BlobEvent: Hashable, Sendable {
    /// The kind of an event. New kinds may be added.
    public struct Kind: Hashable, Sendable {
        private let number: Int

        /// More bytes passed ``BlobInputStreamDataSource/counting(_:)``, or were read to build an index; the value is
        /// their number.
        public static let bytes = Self(number: 1)
        /// The content changed under the reader; the value is the byte offset.
        public static let invalidated = Self(number: 2)
        /// Reading is being resumed after an interruption; the value is the byte offset.
        public static let recovering = Self(number: 3)
        /// Reading has resumed after an interruption; the value is the byte offset.
        public static let recovered = Self(number: 4)
        /// An index for random access was built; the value is its size in bytes.
        public static let indexBuilt = Self(number: 5)
        /// A call that may block waits for a thread, because the limit of blocked threads was reached; the value is 0.
        public static let waitingForThread = Self(number: 6)
        /// A helper process was started; the value is 0 if the system confines it completely, and otherwise the sum of
        /// the missing parts: 1 for the memory limit, 2 for the file limits, 4 for the system call filter.
        public static let helperStarted = Self(number: 7)
        /// Bytes passed the checksum of their format that ``BlobEvent/check`` names; the value is the number of decoded
        /// bytes. Reported by each layer at its end, before the reader above it reports its own.
        ///
        /// A layer that is abandoned before its end, or read from its middle with an index, reports nothing; a source
        /// on the network reports once the ranges that a job has read cover all bytes.
        public static let verified = Self(number: 8)
        /// Bytes reached an end for which their format, or the writer, has no checksum, or were read in an order in
        /// which their digest cannot be compared: damage can look like data. The value is the number of decoded bytes.
        public static let unverified = Self(number: 9)
        /// A stored index of the content is used; the value is the length of the content in bytes. Observed only.
        package static let indexUsed = Self(number: 10)
        /// Bytes were needed that had already been received or requested, so that no request is made for them; the
        /// value is the byte offset. Observed only.
        package static let cacheUsed = Self(number: 11)
    }

    /// The kind of the event.
    public let kind: Kind

    /// The value of the event, such as a number of bytes or a byte offset; its meaning depends on ``kind``.
    public let value: Int64

    /// The scheme of the layer that ``Kind/verified`` and ``Kind/unverified`` refer to, such as `gzip` or, for a
    /// member, `zip`; nil for other kinds.
    public let layer: String?

    /// The checksum that ``Kind/verified`` refers to, such as `CRC-32`; nil for other kinds.
    public let check: String?

    /// The delay before the attempt that ``Kind/recovering`` announces; nil for other kinds.
    package private(set) var delay: Duration?

    /// The number of that attempt, which is 1 for the first consecutive retry; nil for other kinds.
    package private(set) var attempt: Int?

    /// Creates an event.
    public init(_ kind: Kind, _ value: Int64 = 0, layer: String? = nil, check: String? = nil) {
        self.kind = kind
        self.value = value
        self.layer = layer
        self.check = check
    }

    /// Creates the event for an attempt that follows after a failure.
    package init(_ attempt: RetryFailures.Attempt, at byteOffset: Int64 = 0) {
        self.init(.recovering, byteOffset)
        (self.delay, self.attempt) = (attempt.delay, attempt.number)
    }
}

extension BlobContext {
    /// Reports that the bytes of a layer reached their end, after all checks there.
    ///
    /// - Parameter check: The checksum that covers them; nil if no checksum does.
    package func reportEnd(of layer: String, byteCount: Int64, check: String?) {
        guard self.reportsEnds else { return }
        self.report(BlobEvent(check == nil ? .unverified : .verified, byteCount, layer: layer, check: check))
    }
}
