#if Command
import BlobStreamsStandard

/// The file that contains the password for the archives of a command.
struct PasswordFile {
    /// The maximum length of a password in bytes of UTF-8, longer than any program needs.
    private static let maximumByteCount = 1024

    private let argument: String
    private let registry: BlobRegistry

    /// - Parameter argument: The path of the file; '-' means standard input.
    init(_ argument: String, _ registry: BlobRegistry) { (self.argument, self.registry) = (argument, registry) }

    /// Returns the first line without its line ending.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the line is empty, too long or not UTF-8, or contains a zero
    ///   byte; the errors of reading the file. No error contains a part of the password.
    func password(_ context: BlobContext) throws(BlobError) -> String {
        var line = try LineReader(self.argument, self.registry, context).next() ?? []
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else { throw self.passwordFileError("is empty") }
        guard line.count <= Self.maximumByteCount else {
            throw self.passwordFileError("is longer than \(Self.maximumByteCount) bytes")
        }
        guard !line.contains(0), let password = String(validating: line, as: UTF8.self) else {
            throw self.passwordFileError("is not UTF-8 text")
        }
        return password
    }

    private func passwordFileError(_ what: String) -> BlobError {
        BlobError(
            .invalidArgument, "The first line of the password file '\(printableArgument(self.argument))' \(what).",
            operation: "read")
    }

    /// Returns the registry for the command's data, which rejects standard input if the password is read from there.
    static func registryForData(_ registry: BlobRegistry, besides argument: String?) -> BlobRegistry {
        guard let argument, (try? registry.locator(for: argument))?.origin.text == "stdin:" else { return registry }
        return registry.replacing([
            BlobProvider(
                .origin { _, _ in
                    throw BlobError(
                        .invalidArgument, "Standard input contains the password, so it cannot also contain data.")
                }, schemes: ["stdin"])
        ])
    }
}
#endif
