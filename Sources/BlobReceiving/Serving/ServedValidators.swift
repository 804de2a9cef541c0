import BlobCore
import BlobPlatform

/// The validators of served content, and the conditions of requests about them (RFC 9110, sections 8.8 and 13).
struct ServedValidators {
    /// The `ETag`; nil if the identity of the content is unknown.
    let tag: String?
    /// The `Last-Modified` time in seconds since 1970; nil if unknown.
    let modificationTime: Int64?
    /// The current time in seconds since 1970.
    let now: Int64

    /// The outcome of the conditions.
    enum Outcome: Equatable {
        case content, notModified, preconditionFailed
    }

    /// The fields of a response.
    var fields: [RequestHead.Field] {
        [self.tag.map { ("ETag", $0) }, self.modificationTime.map { ("Last-Modified", HTTPDate(seconds: $0).text) }]
            .compactMap(\.self)
    }

    /// Evaluates all conditions but `If-Range`, in the order of RFC 9110, section 13.2.2.
    func outcome(_ head: RequestHead) -> Outcome {
        if let tags = head.value(of: "if-match") {
            guard self.matches(tags, isStrong: true) else { return .preconditionFailed }
        } else if let time = self.time(head, "if-unmodified-since"), let modificationTime, modificationTime > time {
            return .preconditionFailed
        }
        if let tags = head.value(of: "if-none-match") {
            if self.matches(tags, isStrong: false) { return .notModified }
        } else if let time = self.time(head, "if-modified-since"), let modificationTime, modificationTime <= time {
            return .notModified
        }
        return .content
    }

    /// True if a range of the content may be sent: the request has no `If-Range`, or names exactly this content.
    func admitsRange(_ head: RequestHead) -> Bool {
        guard let value = head.value(of: "if-range") else { return true }
        if value.hasPrefix("\"") { return value == self.tag }
        // A time identifies content only if a second change within that second is impossible (section 8.8.2.2).
        guard let modificationTime, modificationTime < self.now else { return false }
        return self.time(head, "if-range") == modificationTime
    }

    private func time(_ head: RequestHead, _ name: String) -> Int64? {
        let values = head.values(of: name)
        return values.count == 1 ? HTTPDate(values[0])?.seconds : nil
    }

    /// Returns true if a list of tags contains the tag of the content; `*` matches any content.
    private func matches(_ list: String, isStrong: Bool) -> Bool {
        if list == "*" { return true }
        guard let tag, !isStrong || !tag.hasPrefix("W/") else { return false }
        let opaque = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
        var rest = list[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            guard !rest.isEmpty else { return false }
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else { return false }
            if rest[...end] == opaque, !isStrong || !isWeak { return true }
            rest = rest[rest.index(after: end)...]
        }
    }
}
