import BlobCore
import BlobPlatform

/// The environment variables and files that configure the AWS tools.
struct AWSEnvironment: Sendable {
    /// The maximum number of bytes to read from a file.
    static let maximumFileByteCount = 1 << 20

    /// Returns the value of an environment variable.
    let variable: @Sendable (String) -> String?
    /// Returns the content of a file; nil if the file does not exist.
    let file: @Sendable (String) throws -> String?

    /// The environment and the files of this process.
    static let process = AWSEnvironment { name in
        getenv(name).map { String(cString: $0) }
    } file: { path in
        guard let file = fopen(path, "r") else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw BlobError(systemError: errno, doing: "Could not open '\(path)'")
        }
        defer { fclose(file) }
        let limit = AWSEnvironment.maximumFileByteCount
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard count <= limit else {
            throw BlobError(.limitExceeded, "'\(path)' has more bytes than the limit of \(limit).")
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Returns the value of the first variable that is set and not empty.
    func value(_ names: String...) -> String? {
        names.lazy.compactMap { self.variable($0) }.first { !$0.isEmpty }
    }

    /// Returns the settings of the selected profile.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the environment names a profile that no file defines; the errors
    ///   of reading the files.
    func profile() throws -> [String: String] {
        let named = self.value("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
        let home = self.value("HOME").map { "\($0)/.aws/" }
        let credentials = self.value("AWS_SHARED_CREDENTIALS_FILE") ?? home.map { $0 + "credentials" }
        let config = self.value("AWS_CONFIG_FILE") ?? home.map { $0 + "config" }
        var settings: [String: String]?
        for (path, isConfig) in [(config, true), (credentials, false)] {
            guard let path, let text = try self.file(path) else { continue }
            let found = ProfileFile(text, isConfig: isConfig).profiles[named ?? "default"]
            settings = (settings ?? [:]).merging(found ?? [:]) { $1 }
            if found == nil, settings?.isEmpty == true { settings = nil }
        }
        guard let settings else {
            guard let named else { return [:] }
            throw BlobError(
                .invalidArgument, "The profile '\(named)' was not found in the AWS configuration files (AWS_PROFILE).")
        }
        return settings
    }
}

/// The sections of a configuration file of the AWS tools: `~/.aws/credentials` or `~/.aws/config`.
struct ProfileFile {
    /// The settings, keyed by profile name. The names of settings are in lower case.
    private(set) var profiles: [String: [String: String]] = [:]

    /// Parses the text of a file. Like the AWS tools, ignores lines that are not settings of a profile.
    ///
    /// - Parameter isConfig: True for `config`, whose sections are called `[profile NAME]`, except `[default]`.
    init(_ text: String, isConfig: Bool) {
        var profile: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = Self.withoutComment(line)
            if words.hasPrefix("["), let end = words.firstIndex(of: "]") {
                profile = Self.profile(words[..<end].dropFirst(), isConfig)
                continue
            }
            // An indented line belongs to the preceding setting.
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

    /// Returns a line without its comment and without leading or trailing whitespace. A comment begins with a `#` or
    /// `;` at the start of the line or after whitespace.
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
