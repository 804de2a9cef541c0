import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// The modules of the schemes that a build can leave out, as errors name these.
private let optionalModules = [
    "'assets-library'": "AssetLibrarySource", "'http'": "HTTPSource (with the headers of libcurl)",
    "'https'": "HTTPSource (with the headers of libcurl)", "'s3'": "S3Source (with the headers of libcurl)",
]

/// Prints an error as one line on standard error, and one about a source with `--json` also as a line of JSON; names
/// the module of a scheme that this build leaves out.
func report(_ error: BlobError) {
    var error = error
    let message = error.message
    if error.code == .notRegistered, let (_, module) = optionalModules.first(where: { message.contains($0.key) }) {
        error = error.adding("The module \(module), which this build leaves out, has that scheme.")
    }
    let text = ErrorText(error.suggestingSchemes(of: .standard).namingOption)
    let details = Verbosity.isVerbose ? text.details.map { "blob:   \($0)\n" }.joined() : ""
    let json = Verbosity.isJSON && error.operation != "write" ? text.json.map { "\($0)\n" } ?? "" : ""
    ProgressLine.printError("blob: \(text.line)\n\(details)\(json)")
}

/// Prints to standard error; a failure is ignored, since it cannot be reported.
func printToStandardError(_ text: String) {
    try? Array(text.utf8).withUnsafeBytes { try writeAll($0, to: STDERR_FILENO, named: "standard error") }
}

/// Prints a line of results; unlike `print`, throws when it cannot be written.
func printLine(_ line: String) throws(BlobError) { try printLine(Array(line.utf8)) }

/// Prints a line of bytes as ``printLine(_:)`` does, with a zero byte at its end if `isZero` is true.
func printLine(_ line: [UInt8], isZero: Bool = false) throws(BlobError) {
    do {
        try (line + [isZero ? 0 : UInt8(ascii: "\n")]).withUnsafeBytes {
            try writeAll($0, to: STDOUT_FILENO, named: "standard output")
        }
    } catch {
        throw BlobError(wrapping: error)
    }
}
