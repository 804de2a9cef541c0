public import BlobCore

/// The separator between the parts of a multipart body: 1 to 70 characters (RFC 2046, section 5.1.1).
///
/// Only letters, digits and hyphens are allowed. The other characters of RFC 2046 must be quoted, and some receivers
/// cannot parse them.
public struct MultipartBoundary: Hashable, Sendable {
    /// The maximum length of a boundary in bytes (RFC 2046, section 5.1.1). Some receivers reject longer boundaries.
    public static let maximumByteCount = 70

    /// The boundary as written after `--` in the body and without quotes in `Content-Type`.
    public let text: String

    /// True if the caller chose the text, so that a part may contain it. Bodies then search their parts for it.
    let isChosen: Bool

    /// Creates a boundary from a text, for bodies that must have the same bytes each time they are composed.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for other characters or another length.
    public init(_ text: String) throws(BlobError) {
        guard (1...Self.maximumByteCount).contains(text.utf8.count), text.utf8.allSatisfy(\.isLetterDigitOrHyphen)
        else {
            throw BlobError(
                .invalidArgument,
                "'\(text)' is not a valid boundary: expected 1 to \(Self.maximumByteCount) ASCII letters, digits "
                    + "and hyphens."
            )
        }
        self.text = text
        self.isChosen = true
    }

    private init(random text: String) {
        self.text = text
        self.isChosen = false
    }

    /// Returns a new random boundary of 128 bits from the system's generator, written as 32 hexadecimal digits.
    ///
    /// The probability that a part contains it is negligible.
    public static func random() -> MultipartBoundary {
        var generator = SystemRandomNumberGenerator()
        let digits = (0..<32).map { _ in String(Int.random(in: 0..<16, using: &generator), radix: 16) }
        return MultipartBoundary(random: digits.joined())
    }
}

extension UInt8 {
    fileprivate var isLetterDigitOrHyphen: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
