/// A fact about a picture that libgexiv2 knows.
package enum MediaFact: UInt8, CaseIterable, Sendable {
    case make, model, lens, orientation, captureDate, captureOffset, captureSubsecond, city, country
    /// Degrees as a decimal number.
    case latitude, longitude
    /// The bytes of Apple's maker note, if it is one.
    case appleNote
}

/// The facts about a picture, as texts; untrusted, because they come from a helper.
package struct MediaFacts: Equatable, Sendable {
    /// The longest text that is kept, and the longest maker note, in bytes.
    package static let textByteLimit = 256, noteByteLimit = 64 * 1024

    package var texts: [MediaFact: [UInt8]] = [:]

    package init() {}
}

extension MediaFacts {
    /// The facts as the payload of a frame: for each, its number (8 bits), its length (32 bits), and its bytes.
    package var encoded: [UInt8] {
        MediaFact.allCases.reduce(into: []) { payload, fact in
            guard let text = self.texts[fact] else { return }
            payload.append(fact.rawValue)
            withUnsafeBytes(of: UInt32(text.count)) { payload += $0 }
            payload += text
        }
    }

    /// Decodes a payload; nil when it is not one of facts.
    package init?(encoded payload: [UInt8]) {
        var rest = payload[...]
        while let number = rest.popFirst() {
            guard let fact = MediaFact(rawValue: number), self.texts[fact] == nil, rest.count >= 4 else { return nil }
            let count = rest.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) }
            rest = rest.dropFirst(4)
            guard count <= rest.count else { return nil }
            self.texts[fact] = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
    }
}
