#if Command
import BlobStreamsStandard

/// The text of an error for the user, on one line: `CODE: what happened [source] (at byte N)`.
///
/// The byte offset is omitted where it would not help.
struct ErrorText {
    /// The codes of errors for which the byte offset helps to locate the problem in the data.
    private static let codesWithByte: Set<BlobError.Code> = [
        .invalidLocator, .invalidArgument, .corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData,
        .inconsistent, .limitExceeded, .changed, .timedOut, .io, .unavailable, .misbehavingPlugin, .internalError,
    ]

    private let error: BlobError

    init(_ error: BlobError) { self.error = error }

    var line: String {
        var plain = BlobError(self.error.code, self.error.message)
        plain.locator = self.place
        if let byteOffset = self.error.byteOffset, byteOffset > 0, Self.codesWithByte.contains(self.error.code) {
            plain.byteOffset = byteOffset
        }
        return plain.description
    }

    /// The layers and the causes, one per line, for `--verbose`.
    var details: [String] {
        var lines: [String] = []
        let layers = self.error.layers.joined(separator: " of ")
        if !layers.isEmpty { lines.append("in \(layers)") }
        if let locator = self.error.locator {
            lines.append("\(self.error.operation ?? "use") of \(locator), byte \(self.error.byteOffset ?? 0)")
        }
        lines += self.causes.map { "caused by \($0)" }
        return lines.map(printable)
    }

    /// The causes, beginning with the immediate one.
    private var causes: [String] {
        var (causes, rest): ([String], (any Error)?) = ([], self.error.cause)
        while let current = rest {
            causes.append(BlobError.text(of: current))
            rest = (current as? BlobError)?.cause
        }
        return causes
    }

    /// The error as a field of a JSON object.
    var fields: JSONObject {
        [
            "byte_offset": self.error.byteOffset, "causes": self.causes, "code": "\(self.error.code)",
            "is_transient": self.error.isTransient, "layers": self.error.layers, "locator": self.error.locator,
            "message": self.error.message, "operation": self.error.operation,
        ]
    }

    /// The fields of the error as one line of JSON, for programs that read the JSON of results.
    var json: String? { try? jsonLine(["error": self.fields]) }

    /// The source as the user writes it: the path of a file, with its wrappers and members, or the text of any other
    /// locator; nil if the error has no locator, or if the message already contains the path.
    private var place: String? {
        guard let text = self.error.locator else { return nil }
        guard let locator = try? BlobLocator(text), let path = locator.filePath,
            let name = String(validating: path, as: UTF8.self), printable(name) == name
        else { return text }
        let wrappers = locator.scheme.split(separator: "+").dropLast().map { "\($0)+" }.joined()
        let members = locator.selectors.map(\.text).joined(separator: "!/")
        // Most messages about system errors contain the file name.
        guard !wrappers.isEmpty || !members.isEmpty || !self.error.message.contains(name) else { return nil }
        return wrappers + name + (members.isEmpty ? "" : "#\(members)")
    }
}

/// Prints an error as one line on standard error; with `--json`, prints an error about a source also as a line of JSON.
///
/// If the build lacks the scheme, the message names the trait to enable.
func report(_ error: BlobError) {
    var error = error
    if error.code == .notRegistered, error.message.contains("AssetLibrarySource") {
        error = error.replacingMessage("The asset library requires the trait Photos, which this build lacks.")
    }
    error = error.suggestingSchemes(of: .standard)
    let text = ErrorText(error.remedy?.advice.map(error.adding) ?? error)
    if Verbosity.hasJSONLog {
        let line = LogLine(level: .error, message: text.line, fields: [("details", text.fields)])
        return ProgressLine.printLog(line.text(.json))
    }
    let details = Verbosity.isVerbose ? text.details.map { "blob:   \($0)\n" }.joined() : ""
    let json = Verbosity.isJSON && error.operation != "write" ? text.json.map { "\($0)\n" } ?? "" : ""
    ProgressLine.printError("blob: \(text.line)\n\(details)\(json)")
}

extension BlobError.Remedy {
    /// The sentences about the command's options, keyed by the remedy that a library suggests.
    private static let options: [Self: String] = [
        .password: "Use --password-file FILE.", .spoolLimit: "Use --spool-limit BYTES to change the limit.",
        .ratioLimit: "Use --max-ratio RATIO to change the limit.",
        .memoryLimit: "Use --memory-limit BYTES to change the limit.",
        .idleLimit: "Use --idle-timeout SECONDS to change the limit.",
        .overwriting: "Use --overwrite to replace it.",
        .unsignedRequests: "Use --no-sign-request to read public objects without credentials.",
    ]

    /// A sentence that names a helpful option; nil if no option helps.
    fileprivate var advice: String? {
        self.format.map { "Use --allow-format \($0) to allow this." } ?? Self.options[self]
    }
}

extension BlobError {
    /// Returns this error with a sentence appended to its message.
    func adding(_ sentence: String) -> BlobError { self.replacingMessage("\(self.message) \(sentence)") }
}
#endif
