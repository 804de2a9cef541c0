import ArgumentParser

/// A number of bytes from 0, as coreutils take it: k, M, G and T behind it stand for powers of 1024, as KiB, MiB and so
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
