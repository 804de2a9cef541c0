/// The sections of a file of AWS's tools: `~/.aws/credentials` or `~/.aws/config`.
struct ProfileFile {
    /// The settings by the name of the profile, with names in lower case.
    private(set) var profiles: [String: [String: String]] = [:]

    /// Parses the text of a file. Lines that are no setting of a profile are ignored, as those tools do.
    ///
    /// - Parameter isConfig: True for `config`, whose sections are called `[profile NAME]`, but for `[default]`.
    init(_ text: String, isConfig: Bool) {
        var profile: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = Self.withoutComment(line)
            if words.hasPrefix("["), let end = words.firstIndex(of: "]") {
                profile = Self.profile(words[..<end].dropFirst(), isConfig)
                continue
            }
            // An indented line belongs to the setting before it.
            guard let name = profile, line.first?.isWhitespace == false, let equals = words.firstIndex(of: "=") else {
                continue
            }
            let key = words[..<equals].trimmed.lowercased()
            self.profiles[name, default: [:]][key] = String(words[words.index(after: equals)...].trimmed)
        }
    }

    private static func profile(_ section: Substring, _ isConfig: Bool) -> String? {
        let name = section.trimmed
        guard isConfig, name != "default" else { return String(name) }
        guard name.hasPrefix("profile"), name.dropFirst(7).first?.isWhitespace == true else { return nil }
        return String(name.dropFirst(7).trimmed)
    }

    /// Returns a line without white space at its ends and without a comment: from a `#` or `;` at the beginning or
    /// after white space.
    private static func withoutComment(_ line: Substring) -> Substring {
        var last: Character = " "
        for index in line.indices {
            if last.isWhitespace, line[index] == "#" || line[index] == ";" { return line[..<index].trimmed }
            last = line[index]
        }
        return line.trimmed
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = self.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
