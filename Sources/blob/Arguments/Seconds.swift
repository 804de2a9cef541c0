import ArgumentParser

/// Options that are a number of seconds.
enum Seconds {
    /// Thirty years: a limit that can be added to any clock.
    static let maximum = 1_000_000_000.0

    static func validate(_ value: Double?, _ option: String) throws(ValidationError) {
        guard let value, !(value > 0 && value <= self.maximum) else { return }
        throw ValidationError("\(option) takes a number above 0, at most \(Int(self.maximum)).")
    }
}
