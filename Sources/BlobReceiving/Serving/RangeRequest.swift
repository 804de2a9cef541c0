import BlobCore

/// The ranges of bytes that a `Range` field requests (RFC 9110, section 14).
enum RangeRequest: Equatable {
    /// The field is missing, invalid, or not worth following: the whole content is sent.
    case whole
    /// Ranges within the content, none of which is empty; in the requested order, except that overlapping ones are
    /// joined.
    case ranges([Range<Int64>])
    case unsatisfiable

    /// The maximum number of ranges. Many small ranges cost more than the whole content (RFC 9110, section 17.15).
    private static let maximumCount = 100

    /// - Parameter byteCount: The length of the content.
    init(_ field: String?, of byteCount: Int64) {
        self = .whole
        guard let field, let equals = field.firstIndex(of: "="), field[..<equals].lowercased() == "bytes" else {
            return
        }
        var (ranges, count, isSatisfiable): ([Range<Int64>], Int, Bool) = ([], 0, false)
        for item in field[field.index(after: equals)...].split(separator: ",") {
            let text = item.drop { " \t".contains($0) }.reversed().drop { " \t".contains($0) }.reversed()
            guard !text.isEmpty else { continue }
            let bounds = String(text).split(separator: "-", omittingEmptySubsequences: false)
            count += 1
            guard bounds.count == 2, count <= Self.maximumCount else { return }
            let (first, last) = (RequestHead.byteCount(bounds[0]), RequestHead.byteCount(bounds[1]))
            let range: Range<Int64>
            switch (first, last) {
            case (let first?, let last?) where first <= last:
                range = min(first, byteCount)..<min(last, byteCount - 1) + 1
            case (let first?, nil) where bounds[1].isEmpty: range = min(first, byteCount)..<byteCount
            case (nil, let last?) where bounds[0].isEmpty:
                // Such a range is satisfiable even in empty content.
                isSatisfiable = isSatisfiable || last > 0
                range = max(0, byteCount - last)..<byteCount
            default: return
            }
            Self.add(range, to: &ranges)
        }
        guard count > 0 else { return }
        if !ranges.isEmpty { self = .ranges(ranges) } else if !isSatisfiable { self = .unsatisfiable }
    }

    private static func add(_ range: Range<Int64>, to ranges: inout [Range<Int64>]) {
        guard !range.isEmpty else { return }
        var joined = range
        let overlapping = { (other: Range<Int64>) in other.overlaps(joined) }
        guard let place = ranges.firstIndex(where: overlapping) else { return ranges.append(range) }
        // A joined range may overlap others.
        while let index = ranges.firstIndex(where: overlapping) {
            let other = ranges.remove(at: index)
            joined = min(other.lowerBound, joined.lowerBound)..<max(other.upperBound, joined.upperBound)
        }
        ranges.insert(joined, at: min(place, ranges.count))
    }
}
