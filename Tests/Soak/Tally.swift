import BlobStreamsStandard

/// The counts of a soak.
struct Tally: Sendable {
    var jobCount = 0
    var faultyJobCount = 0
    /// The number of bytes that were compared.
    var byteCount: Int64 = 0
    /// The number of right ends.
    var endCount = 0
    /// The numbers of errors that were expected, by their codes.
    var errorCounts: [String: Int] = [:]
    /// What must not happen: jobs with wrong bytes, wrong ends or wrong errors.
    var wrong: [String] = []

    mutating func add(_ error: BlobError.Code) { self.errorCounts["\(error)", default: 0] += 1 }

    /// The errors by kind, the most frequent ones first.
    var errorText: String {
        self.errorCounts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
    }
}
