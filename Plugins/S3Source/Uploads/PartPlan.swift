import BlobCore
import BlobDeflate
import BlobPlatform
import CryptoDigest

/// The limits that S3 imposes on parts.
struct PartLimits: Equatable, Sendable {
    /// The minimum length of every part except the last, in bytes.
    var minimumByteCount: Int64 = 5 << 20
    /// The maximum length of a part, in bytes.
    var maximumByteCount: Int64 = 5 << 30
    var maximumCount = 10_000
    /// The increment, in bytes, by which parts are enlarged.
    var roundingByteCount: Int64 = 1 << 20
}

/// The division of an object into parts. The last part may be shorter.
struct PartPlan: Equatable, Sendable {
    let partByteCount: Int64
    /// The length of the object in bytes; nil if it is known only at the end.
    let byteCount: Int64?
    let limits: PartLimits

    /// Creates a plan. If the object's length is known, enlarges the parts as necessary to limit their number.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a size that S3 refuses; ``BlobError/Code/limitExceeded`` for an
    ///   object that is too long.
    init(partByteCount: Int64, byteCount: Int64?, limits: PartLimits = PartLimits()) throws(BlobError) {
        guard (limits.minimumByteCount...limits.maximumByteCount).contains(partByteCount) else {
            throw BlobError(
                .invalidArgument,
                "A part must have \(limits.minimumByteCount) to \(limits.maximumByteCount) bytes, not \(partByteCount)."
            )
        }
        var partByteCount = partByteCount
        if let byteCount, byteCount > partByteCount * Int64(limits.maximumCount) {
            let least = (byteCount - 1) / Int64(limits.maximumCount) + 1
            partByteCount = ((least - 1) / limits.roundingByteCount + 1) * limits.roundingByteCount
            guard partByteCount <= limits.maximumByteCount else {
                throw BlobError(
                    .limitExceeded,
                    "\(byteCount) bytes do not fit in the maximum of \(limits.maximumCount) parts.")
            }
        }
        (self.partByteCount, self.byteCount, self.limits) = (partByteCount, byteCount, limits)
    }

    /// The number of parts, at least 1; nil if the length is unknown.
    var count: Int? { self.byteCount.map { max(1, Int(($0 + self.partByteCount - 1) / self.partByteCount)) } }

    /// Returns the byte range of a part, specified by its number, starting at 1.
    func range(of number: Int) -> Range<Int64> {
        let start = Int64(number - 1) * self.partByteCount
        return start..<min(start + self.partByteCount, self.byteCount ?? .max)
    }

    /// Checks that S3 allows a part number.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for a part number beyond the limit.
    func check(_ number: Int) throws(BlobError) {
        guard number > self.limits.maximumCount else { return }
        throw BlobError(
            .limitExceeded,
            "The source does not fit in the maximum of \(self.limits.maximumCount) parts of \(self.partByteCount) "
                + "bytes each: make the parts larger.", operation: "write")
    }
}

/// The digests by which a store verifies a body.
struct PartDigests: Equatable, Sendable {
    private static let bufferByteCount = 256 * 1024

    /// The SHA-256 that is signed, as hexadecimal digits.
    let sha256: String
    /// The MD5, which is the entity tag of parts and objects that are not encrypted.
    let md5: [UInt8]
    /// The CRC-64/NVME, which can be combined with the checksums of other parts.
    let sum: CyclicSum
    let byteCount: Int64

    /// Computes the digests of the content of a source, on the calling thread.
    ///
    /// - Throws: The errors of the source, including ``BlobError/Code/changed``.
    init(
        of source: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ context: BlobContext
    ) throws(BlobError) {
        let reader = try source.open(matching: validator, context: context)
        defer { reader.close() }
        try self.init(of: reader, upTo: .max)
    }

    /// Computes the digests of the next bytes of a reader, at most `maximumByteCount`.
    private init(of reader: BlobReader, upTo maximumByteCount: Int64) throws(BlobError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferByteCount, alignment: 16)
        defer { buffer.deallocate() }
        var sum = CyclicSum(.crc64NVME)
        var (sha256, md5, byteCount) = (CryptoDigest.sha256.makeHasher(), CryptoDigest.md5.makeHasher(), Int64(0))
        try BlobError.wrapping {
            while byteCount < maximumByteCount {
                let room = buffer.prefix(Int(clamping: maximumByteCount - byteCount))
                let count = try reader.readBlocking(into: UnsafeMutableRawBufferPointer(rebasing: room))
                if count == 0 { break }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                sha256.update(bytes)
                md5.update(bytes)
                sum.update(bytes)
                byteCount += Int64(count)
            }
        }
        (self.sha256, self.md5) = (sha256.finalizeHexadecimal(), md5.finalize())
        (self.sum, self.byteCount) = (sum, byteCount)
    }

    /// Returns the MD5 of each part of a source. Reads the source once.
    static func md5s(
        of source: any BlobInputStreamDataSource, _ plan: PartPlan, matching validator: BlobValidator?,
        _ context: BlobContext
    ) throws(BlobError) -> [[UInt8]] {
        let reader = try source.open(matching: validator, context: context)
        defer { reader.close() }
        var digests: [[UInt8]] = []
        while true {
            let part = try Self(of: reader, upTo: plan.partByteCount)
            if part.byteCount > 0 || digests.isEmpty { digests.append(part.md5) }
            guard part.byteCount == plan.partByteCount else { return digests }
        }
    }

    init(of bytes: Data) {
        self.sha256 = CryptoDigest.sha256.digest(of: bytes).hexadecimal
        (self.md5, self.byteCount) = (CryptoDigest.md5.digest(of: bytes), Int64(bytes.count))
        var sum = CyclicSum(.crc64NVME)
        bytes.withUnsafeBytes { sum.update($0) }
        self.sum = sum
    }

    /// The value of a `Content-MD5` field.
    var contentMD5: String { Data(self.md5).base64EncodedString() }
}

/// Functions for entity tags, which stores state in quotes.
enum EntityTag {
    /// Returns the text of a tag, without quotes.
    static func text(_ tag: String) -> String { tag.filter { $0 != "\"" } }

    /// Returns true for 32 hexadecimal digits, the MD5 of a part that is not encrypted.
    static func isMD5(_ tag: String) -> Bool { self.md5(tag) != nil }

    /// Returns the bytes of a tag that consists of 32 hexadecimal digits; nil for any other tag.
    static func md5(_ tag: String) -> [UInt8]? {
        let bytes = [UInt8](hexadecimal: self.text(tag).utf8)
        return bytes?.count == 16 ? bytes : nil
    }

    /// Returns the tag of an object whose parts have these MD5s: the MD5 of the MD5s, followed by their number.
    static func combined(_ digests: [[UInt8]]) -> String {
        "\(CryptoDigest.md5.digest(of: Array(digests.joined())).hexadecimal)-\(digests.count)"
    }

    /// Returns true if a tag has the form of ``combined(_:)``.
    static func isCombined(_ tag: String) -> Bool {
        let parts = self.text(tag).split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && self.isMD5(String(parts[0])) && Int(parts[1]) != nil
    }
}
