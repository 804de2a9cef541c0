#if Command
import ArgumentParser
import BlobStreamsStandard

/// A nonnegative number of bytes, with the suffixes of coreutils: k, M, G and T, or KiB, MiB and so on, stand for
/// powers of 1024; kB, MB, GB and TB for powers of 1000.
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

/// A rate of at least 1 byte per second, with the units of ``ByteCount``.
struct ByteRate: ExpressibleByArgument {
    let bytesPerSecond: Int64

    init?(argument: String) {
        guard let count = ByteCount(argument: argument), count.value > 0 else { return nil }
        self.bytesPerSecond = count.value
    }
}

/// An offset in bytes, written as a ``ByteCount``; a leading `-` means that it is measured from the end.
struct ByteOffset: ExpressibleByArgument {
    /// Negative for an offset from the end.
    let value: Int64

    init?(argument: String) {
        let isFromEnd = argument.hasPrefix("-")
        guard let count = ByteCount(argument: String(argument.dropFirst(isFromEnd ? 1 : 0))) else { return nil }
        self.value = isFromEnd ? -count.value : count.value
    }

    /// Returns an offset from the start of a source; 0 if an offset from the end exceeds the source's length.
    ///
    /// - Parameter value: The offset; a negative offset is measured from the end, and requires a source of known
    ///   length.
    static func start(_ value: Int64, in source: any BlobInputStreamDataSource, _ context: BlobContext)
        throws(BlobError) -> Int64
    {
        guard value < 0 else { return value }
        guard let byteCount = try source.info(context).byteCount else {
            throw BlobError(
                .unsupported, "The length is unknown, so --offset cannot count from the end.", operation: "open",
                locator: source.locator?.description)
        }
        return max(0, byteCount + value)
    }
}

extension ArgumentHelp {
    /// Creates the help of an option that only `--help all` and the manual page describe.
    static func advanced(_ abstract: String, discussion: String = "", valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(abstract, discussion: discussion, valueName: valueName, visibility: .hidden)
    }
}

/// Options whose value is a number of seconds.
enum Seconds {
    /// The maximum number of seconds, about thirty years, which can be added to the time of any clock.
    static let maximum = 1_000_000_000.0

    static func validate(_ value: Double?, _ option: String) throws(ValidationError) {
        guard let value, !(value > 0 && value <= self.maximum) else { return }
        throw ValidationError("\(option) must be greater than 0 and at most \(Int(self.maximum)).")
    }

    /// The default of `--retry-max-time`.
    static let defaultRetryTime = 3600.0

    /// The help of `--retry-max-time`.
    static let retryHelp = ArgumentHelp.advanced(
        "Give up if consecutive waits would exceed this total, even if the server requests them.",
        valueName: "seconds")

    /// Returns the text about a wait of at least a second, for a notice; an empty string for a shorter wait.
    static func delayText(of delay: Duration?) -> String {
        guard let delay, delay >= .seconds(1) else { return "" }
        return ", waiting \(Int(delay.timeInterval.rounded())) s"
    }
}
#endif
