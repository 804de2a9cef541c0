import BlobCore

/// The facts about one version of an object, obtained from the head of a response.
struct RemoteFacts: Equatable {
    /// The info that readers report.
    private(set) var info: BlobInfo

    /// The digests of the object's parts, in order and without gaps; empty if unknown.
    private var parts: [StatedRange] = []

    /// The ETag, strong or weak.
    let tag: String?

    /// The date of the last change, as stated.
    private let date: String?

    /// The value for a condition that requires the object to be unchanged; nil if the head has neither a strong ETag
    /// nor a date.
    let condition: String?

    /// The encoding that was applied to the bytes last, in lower case; nil if the bytes are not encoded.
    ///
    /// The bytes are read as they are stored. Ranges also refer to the encoded bytes (RFC 9110, sections 8.4 and
    /// 14.1.2).
    let coding: String?

    /// True if the bytes of two responses may be joined.
    ///
    /// A server that encodes responses on the fly may encode each one differently, unless the object has a strong ETag.
    var canBeJoined: Bool { self.coding == nil || self.info.validator?.isStrong == true }

    /// The ranges with stated digests, either the whole object or its parts; empty if no digests are stated.
    var statedRanges: [StatedRange] {
        self.info.digests.isEmpty ? self.parts : [StatedRange(0, self.info.byteCount, self.info.digests)]
    }

    /// Adds digests that the server states outside the response.
    mutating func add(_ ranges: [StatedRange]) {
        if ranges.count == 1, ranges[0].start == 0, ranges[0].end == self.info.byteCount {
            self.info.digests = ranges[0].digests + self.info.digests
        } else {
            self.parts = ranges
        }
    }

    /// - Parameters:
    ///   - byteCount: The length of the whole object; nil if unknown.
    ///   - hasRanges: True if the server supports ranges.
    init(
        _ head: ResponseHead, byteCount: Int64?, hasRanges: Bool, name: String? = nil, digests: [BlobStatedDigest] = []
    ) {
        let tag = head.value(of: "etag").flatMap { Self.isTag($0) ? $0 : nil }
        let date = head.value(of: "last-modified").flatMap { $0.isEmpty ? nil : $0 }
        let strongTag = tag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
        (self.tag, self.date) = (tag, date)
        (self.condition, self.coding) = (strongTag ?? date, head.contentCodings.last)
        let validator: BlobValidator? =
            if let strongTag {
                .strong(strongTag)
            } else {
                // A weak tag and a date together identify more than either alone, and still more with the length.
                tag == nil && date == nil
                    ? nil : .weak([tag, date, byteCount.map(String.init)].compactMap(\.self).joined(separator: " "))
            }
        // `Content-Type` is the type of the bytes before they were encoded.
        let type =
            if let coding {
                Self.mediaTypesByCoding[coding]
            } else {
                head.value(of: "content-type")?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
            }
        self.info = BlobInfo(
            byteCount: byteCount, mediaType: type.flatMap { $0.isEmpty ? nil : $0 }, name: name, validator: validator,
            isRandomAccess: hasRanges, digests: digests)
    }

    /// Returns true if another response is about the same version.
    ///
    /// A fact that only one of them states, such as a length that a proxy omits, is ignored.
    func isSameVersion(as other: RemoteFacts) -> Bool {
        let (validator, otherValidator) = (self.info.validator, other.info.validator)
        let (count, otherCount) = (self.info.byteCount, other.info.byteCount)
        if let count, let otherCount, count != otherCount { return false }
        if let coding, let otherCoding = other.coding, coding != otherCoding { return false }
        // If the body of a response is the whole object, its digest may also be the digest of the object.
        for digest in self.info.digests {
            let stated = other.info.digests.filter { ($0.algorithm, $0.origin) == (digest.algorithm, digest.origin) }
            guard stated.isEmpty || stated.contains(digest) else { return false }
        }
        // Servers mark the tag of a file that was just written as weak, and later remove the mark: the two match by the
        // weak comparison (RFC 9110, section 8.8.3.2).
        if let tag, tag.hasPrefix("W/"), tag.dropFirst(2) == other.tag ?? "" {
            return self.coding == other.coding && self.date == other.date
        }
        // A weak validator includes the length.
        let areAlike = (count == nil) == (otherCount == nil)
        if let validator, validator.isStrong || areAlike { return validator == otherValidator }
        return otherValidator?.isStrong != true && self.condition == other.condition
    }

    /// The media types of encoded bytes. Other encodings have no media type.
    private static let mediaTypesByCoding = [
        "gzip": "application/gzip", "x-gzip": "application/gzip", "zstd": "application/zstd",
    ]

    /// Returns true for an entity tag (RFC 9110, section 8.8.3).
    private static func isTag(_ text: String) -> Bool {
        let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        return tag.count >= 2 && tag.first == "\"" && tag.last == "\"" && !tag.dropFirst().dropLast().contains("\"")
    }
}

/// The value of a `Content-Range` field (RFC 9110, section 14.4).
struct ContentRange: Equatable {
    /// The range of the bytes in the response; nil if the requested range is outside the object.
    let bytes: Range<Int64>?
    /// The length of the object; nil if the server does not state it.
    let byteCount: Int64?

    /// Parses the value; fails for invalid text and for a range that exceeds the length.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let byteCount = Self.number(parts[1])
        guard byteCount != nil || parts[1] == "*" else { return nil }
        self.byteCount = byteCount
        guard parts[0] != "*" else {
            self.bytes = nil
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < byteCount ?? .max
        else { return nil }
        self.bytes = first..<(last + 1)
    }

    /// True if the response contains the whole object, which is not empty.
    var isWhole: Bool { self.bytes?.lowerBound == 0 && self.bytes?.upperBound == self.byteCount }

    private static func number(_ digits: Substring) -> Int64? {
        !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
