#if Command
import BlobStreamsStandard

/// The text of an error for a person: `CODE: what happened [source] (at byte N)` on one line, without a
/// byte that explains nothing.
struct ErrorText {
    /// The codes of errors about a place in data, which the byte helps to find.
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

    /// The layers and the causes, one a line, for `--verbose`.
    var details: [String] {
        var lines: [String] = []
        let layers = self.error.layers.joined(separator: " of ")
        if !layers.isEmpty { lines.append("in \(layers)") }
        if let locator = self.error.locator {
            lines.append("\(self.error.operation ?? "use") of \(locator), byte \(self.error.byteOffset ?? 0)")
        }
        lines += self.causes.map { "because of \($0)" }
        return lines.map(printable)
    }

    /// The causes, the nearest first.
    private var causes: [String] {
        var (causes, rest): ([String], (any Error)?) = ([], self.error.cause)
        while let current = rest {
            causes.append(BlobError.text(of: current))
            rest = (current as? BlobError)?.cause
        }
        return causes
    }

    /// The error as the field of a JSON object.
    var fields: JSONObject {
        [
            "byte_offset": self.error.byteOffset, "causes": self.causes, "code": "\(self.error.code)",
            "is_transient": self.error.isTransient, "layers": self.error.layers, "locator": self.error.locator,
            "message": self.error.message, "operation": self.error.operation,
        ]
    }

    /// The fields of the error as one line of JSON, for programs that read the JSON of results.
    var json: String? { try? jsonLine(["error": self.fields]) }

    /// The source as people write it: the path of a file, with its wrappers and members; nil when the message names it.
    private var place: String? {
        guard let text = self.error.locator else { return nil }
        guard let locator = try? BlobLocator(text), let path = locator.filePath,
            let name = String(validating: path, as: UTF8.self), printable(name) == name
        else { return text }
        let wrappers = locator.scheme.split(separator: "+").dropLast().map { "\($0)+" }.joined()
        let members = locator.selectors.map(\.text).joined(separator: "!/")
        // Messages about errors of the system name the file, most of them.
        guard !wrappers.isEmpty || !members.isEmpty || !self.error.message.contains(name) else { return nil }
        return wrappers + name + (members.isEmpty ? "" : "#\(members)")
    }
}

/// Prints an error as one line on standard error, and one about a source with `--json` also as a line of JSON; names
/// the trait of a scheme that this build leaves out.
func report(_ error: BlobError) {
    var error = error
    if error.code == .notRegistered, error.message.contains("'assets-library'") {
        error = error.adding("This build is without the trait Photos.")
    }
    error = error.suggestingSchemes(of: .standard)
    let text = ErrorText(error.remedy?.advice.map(error.adding) ?? error)
    let details = Verbosity.isVerbose ? text.details.map { "blob:   \($0)\n" }.joined() : ""
    let json = Verbosity.isJSON && error.operation != "write" ? text.json.map { "\($0)\n" } ?? "" : ""
    ProgressLine.printError("blob: \(text.line)\n\(details)\(json)")
}

extension BlobError.Remedy {
    /// The options of the command for the settings of the libraries, which do not know them.
    private static let options: [Self: String] = [
        .password: "--password-file FILE gives one.", .spoolLimit: "--spool-limit BYTES sets it.",
        .ratioLimit: "--max-ratio RATIO sets it.", .memoryLimit: "--memory-limit BYTES sets it.",
        .idleLimit: "--idle-timeout SECONDS sets it.", .overwriting: "--overwrite replaces it.",
        .unsignedRequests: "--no-sign-request reads public objects without them.",
    ]

    /// A sentence with the option that helps; nil when no option does.
    fileprivate var advice: String? { self.format.map { "--allow-format \($0) does." } ?? Self.options[self] }
}

extension BlobError {
    /// Returns this error with a further sentence.
    func adding(_ sentence: String) -> BlobError { self.replacingMessage("\(self.message) \(sentence)") }
}
#endif
