/// A measurement that is no comparison of rates.
struct Report {
    /// What is measured, and in which units.
    let title: String
    /// The results, one a line: a name and columns.
    let lines: () throws -> [(name: String, columns: [String])]
}
