import ArgumentParser

/// A number of bytes a second, from 1, as curl takes it: k, M and G behind it stand for powers of 1024.
struct ByteRate: ExpressibleByArgument {
    private static let factors: [Character: Int64] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]

    let bytesPerSecond: Int64

    init?(argument: String) {
        let factor = argument.lowercased().last.flatMap { Self.factors[$0] }
        let (rate, overflows) = (Int64(factor == nil ? argument : String(argument.dropLast())) ?? 0)
            .multipliedReportingOverflow(by: factor ?? 1)
        guard rate > 0, !overflows else { return nil }
        self.bytesPerSecond = rate
    }
}
