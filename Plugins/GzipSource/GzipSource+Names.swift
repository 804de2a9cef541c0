extension GzipSource.Format {
    /// The file name extensions of this format, in lower case and without the dot.
    ///
    /// `pigz -z` writes `zz`; RFC 6713 registers `gz`.
    var fileExtensions: [String] {
        switch self {
        case .gzip: ["gz"]
        case .zlib: ["zlib", "zz"]
        case .deflate: ["deflate"]
        }
    }

    /// Returns the name of the decoded content: `a.txt` for `a.txt.gz`, `a.tar` for `a.tgz`, otherwise the same name.
    func decodedName(_ name: String) -> String {
        let lowercased = name.lowercased()
        if self == .gzip, lowercased.hasSuffix(".tgz"), name.count > 4 { return String(name.dropLast(3)) + "tar" }
        let suffix = self.fileExtensions.map { ".\($0)" }.first { lowercased.hasSuffix($0) }
        guard let suffix, name.count > suffix.count else { return name }
        return String(name.dropLast(suffix.count))
    }
}
