import BlobCore

/// A secret at the beginning of the paths of a server. Whoever does not know it finds nothing there.
public struct AccessToken: Sendable {
    /// The number of random bytes of a new token: 128 bits cannot be guessed.
    private static let byteCount = 16

    /// The text of the token.
    public let text: String

    /// Creates a token from a text, or a random one.
    public init(_ text: String? = nil) {
        self.text = text ?? (0..<Self.byteCount).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
    }

    /// Returns the rest of a target that begins with `/TOKEN/`; nil for any other target.
    ///
    /// - Complexity: The time is the same for every token of the same length.
    public func path(in target: some StringProtocol) -> Substring? {
        let parts = Substring(target).split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[1].utf8.count == self.text.utf8.count else { return nil }
        let difference = zip(parts[1].utf8, self.text.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) }
        return difference == 0 ? parts[2] : nil
    }
}
