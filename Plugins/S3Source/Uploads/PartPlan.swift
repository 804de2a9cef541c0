import BlobCore

/// The limits of parts, as S3 has them.
struct PartLimits: Equatable, Sendable {
    /// The smallest part but the last, in bytes.
    var minimumByteCount: Int64 = 5 << 20
    /// The largest part, in bytes.
    var maximumByteCount: Int64 = 5 << 30
    var maximumCount = 10_000
    /// The unit, in bytes, in which parts grow.
    var unit: Int64 = 1 << 20
}

/// The division of an object into parts, of which the last may be shorter.
struct PartPlan: Equatable, Sendable {
    let partByteCount: Int64
    /// The length of the object in bytes; nil when it is known at the end only.
    let byteCount: Int64?
    let limits: PartLimits

    /// Makes the parts as large as their number requires, if the length is known.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a size that S3 refuses, ``BlobError/Code/limitExceeded`` for an
    ///   object that is too long.
    init(partByteCount: Int64, byteCount: Int64?, limits: PartLimits = PartLimits()) throws(BlobError) {
        guard (limits.minimumByteCount...limits.maximumByteCount).contains(partByteCount) else {
            throw BlobError(
                .invalidArgument,
                "A part has \(limits.minimumByteCount) to \(limits.maximumByteCount) bytes, not \(partByteCount).")
        }
        var partByteCount = partByteCount
        if let byteCount, byteCount > partByteCount * Int64(limits.maximumCount) {
            let least = (byteCount - 1) / Int64(limits.maximumCount) + 1
            partByteCount = ((least - 1) / limits.unit + 1) * limits.unit
            guard partByteCount <= limits.maximumByteCount else {
                throw BlobError(
                    .limitExceeded,
                    "\(byteCount) bytes are more than \(limits.maximumCount) parts, the limit, can have.")
            }
        }
        (self.partByteCount, self.byteCount, self.limits) = (partByteCount, byteCount, limits)
    }

    /// The number of parts, at least 1; nil when the length is unknown.
    var count: Int? { self.byteCount.map { max(1, Int(($0 + self.partByteCount - 1) / self.partByteCount)) } }

    /// Returns the bytes of a part, by its number from 1.
    func range(of number: Int) -> Range<Int64> {
        let start = Int64(number - 1) * self.partByteCount
        return start..<min(start + self.partByteCount, self.byteCount ?? .max)
    }

    /// - Throws: ``BlobError/Code/limitExceeded`` for a number that no part can have.
    func check(_ number: Int) throws(BlobError) {
        guard number > self.limits.maximumCount else { return }
        throw BlobError(
            .limitExceeded,
            "The source has more than \(self.limits.maximumCount) parts of \(self.partByteCount) bytes, which is the "
                + "limit: make the parts larger.", operation: "write")
    }
}
