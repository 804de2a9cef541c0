/// The growth of a process, from its measures after the warm-up.
struct Growth {
    /// What of the growth of memory is none, in bytes: caches fill up later, and the heap is divided anew.
    private static let (allocatedAllowance, residentAllowance) = (4 << 20, 64 << 20)

    /// The number of sockets more that are none: libcurl keeps connections for a while, each of which has up to four.
    private static let socketAllowance = 64

    /// The slope of the bytes in use, in bytes an hour, by least squares.
    let allocatedSlope: Double
    /// The slope of the resident bytes, in bytes an hour.
    let residentSlope: Double
    /// What grew, in words.
    let faults: [String]

    /// - Parameters:
    ///   - measures: At least three, of which the first third is the warm-up.
    ///   - interval: The time between two measures, in seconds.
    init(_ measures: [Measures], interval: Double) {
        let settled = Array(measures.dropFirst(measures.count / 3))
        let first = settled.prefix((settled.count + 1) / 2)
        let second = settled.suffix(settled.count / 2)
        self.allocatedSlope = Self.slope(settled.map(\.allocatedByteCount), interval)
        self.residentSlope = Self.slope(settled.map(\.residentByteCount), interval)
        // What grows is greater in the whole second half than ever in the first.
        let kinds: [(KeyPath<Measures, Int>, Int, String)] = [
            (\.allocatedByteCount, Self.allocatedAllowance, "the bytes in use"),
            (\.residentByteCount, Self.residentAllowance, "the resident bytes"),
            (\.descriptorCount, 0, "the descriptors"), (\.socketCount, Self.socketAllowance, "the sockets"),
            (\.threadCount, 4, "the threads"),
        ]
        self.faults = kinds.compactMap { path, allowance, name in
            let (most, least) = (
                first.map { $0[keyPath: path] }.max() ?? 0, second.map { $0[keyPath: path] }.min() ?? 0
            )
            return least > most + allowance ? "\(name) grew from \(most) to \(least)" : nil
        }
    }

    private static func slope(_ values: [Int], _ interval: Double) -> Double {
        let times = values.indices.map { Double($0) * interval / 3600 }
        let mean = { (values: [Double]) in values.reduce(0, +) / Double(values.count) }
        let (time, value) = (mean(times), mean(values.map(Double.init)))
        let spread = times.reduce(0) { $0 + ($1 - time) * ($1 - time) }
        let product = zip(times, values).reduce(0) { $0 + ($1.0 - time) * (Double($1.1) - value) }
        return spread > 0 ? product / spread : 0
    }
}
