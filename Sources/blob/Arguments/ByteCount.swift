#if Command
import ArgumentParser
import BlobStreamsStandard

/// A number of bytes from 0, as coreutils take it: a k, M, G or T after it stands for powers of 1024, as KiB, MiB and so
/// on; kB, MB, GB and TB for powers of 1000.
struct ByteCount: ExpressibleByArgument {
    private static let units: [Character: Int] = ["k": 1, "m": 2, "g": 3, "t": 4]

    let value: Int64

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let unit = argument.dropFirst(digits.count).lowercased()
        var factor: Int64 = 1
        if let first = unit.first {
            guard let power = Self.units[first], ["", "b", "ib"].contains(unit.dropFirst()) else { return nil }
            for _ in 0..<power { factor *= unit.dropFirst() == "b" ? 1000 : 1024 }
        }
        guard let (value, overflows) = Int64(digits)?.multipliedReportingOverflow(by: factor), !overflows else {
            return nil
        }
        self.value = value
    }
}

/// A number of bytes a second, from 1, with the units of ``ByteCount``.
struct ByteRate: ExpressibleByArgument {
    let bytesPerSecond: Int64

    init?(argument: String) {
        guard let count = ByteCount(argument: argument), count.value > 0 else { return nil }
        self.bytesPerSecond = count.value
    }
}

/// An offset in bytes, written as a ``ByteCount``; with a `-` before it, one from the end.
struct ByteOffset: ExpressibleByArgument {
    /// Negative from the end.
    let value: Int64

    init?(argument: String) {
        let isFromEnd = argument.hasPrefix("-")
        guard let count = ByteCount(argument: String(argument.dropFirst(isFromEnd ? 1 : 0))) else { return nil }
        self.value = isFromEnd ? -count.value : count.value
    }

    /// Returns an offset from the start of a source; 0 when a source has fewer bytes than the wanted ones at its end.
    ///
    /// - Parameter value: The offset, negative from the end, for which the length of the source must be known.
    static func start(_ value: Int64, in source: any BlobInputStreamDataSource, _ context: BlobContext)
        throws(BlobError) -> Int64
    {
        guard value < 0 else { return value }
        guard let byteCount = try source.info(context).byteCount else {
            throw BlobError(
                .unsupported, "The length is not known, so --offset cannot count from the end.", operation: "open",
                locator: source.locator?.description)
        }
        return max(0, byteCount + value)
    }
}

/// Options that are a number of seconds.
enum Seconds {
    /// Thirty years: a limit that can be added to any clock.
    static let maximum = 1_000_000_000.0

    static func validate(_ value: Double?, _ option: String) throws(ValidationError) {
        guard let value, !(value > 0 && value <= self.maximum) else { return }
        throw ValidationError("\(option) takes a number above 0, at most \(Int(self.maximum)).")
    }

    /// The default of `--retry-max-time`.
    static let defaultRetryTime = 3600.0

    /// The help of `--retry-max-time`.
    static let retryHelp = ArgumentHelp(
        "Give up rather than wait longer than this between attempts in a row, also if the server asks for it.",
        valueName: "seconds")

    /// Returns the words about a wait of a second or more, for a notice; empty for a shorter one.
    static func note(of delay: Duration?) -> String {
        guard let delay, delay >= .seconds(1) else { return "" }
        return ", waiting \(Int(delay.timeInterval.rounded())) s"
    }
}
#endif
