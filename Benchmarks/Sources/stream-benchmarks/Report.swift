/// A measurement other than a comparison of rates.
struct Report {
    /// The measured quantities and their units.
    let title: String
    /// Measures, and returns one line for each result: a name and columns.
    let lines: () throws -> [(name: String, columns: [String])]
}
