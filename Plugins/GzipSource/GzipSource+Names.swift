extension GzipSource.Format {
    /// The file name extensions that mean this format, in lower case and without the dot.
    ///
    /// `zz` is what `pigz -z` writes; `gz` what RFC 6713 registers.
    var fileExtensions: [String] {
        switch self {
        case .gzip: ["gz"]
        case .zlib: ["zlib", "zz"]
        case .deflate: ["deflate"]
        }
    }

    /// The name of what a file of this name holds: `a.txt` for `a.txt.gz`, `a.tar` for `a.tgz`, otherwise the same.
    func decodedName(_ name: String) -> String {
        let lowercased = name.lowercased()
        if self == .gzip, lowercased.hasSuffix(".tgz"), name.count > 4 { return String(name.dropLast(3)) + "tar" }
        let suffix = self.fileExtensions.map { ".\($0)" }.first { lowercased.hasSuffix($0) }
        guard let suffix, name.count > suffix.count else { return name }
        return String(name.dropLast(suffix.count))
    }
}
