#if Command
import BlobStreamsStandard

/// The file with the password of the archives that a command reads.
struct PasswordFile {
    /// The maximum length of a password in bytes of UTF-8: more than any program asks for.
    private static let maximumByteCount = 1024

    private let argument: String
    private let registry: BlobRegistry

    /// - Parameter argument: The path of the file; '-' is standard input.
    init(_ argument: String, _ registry: BlobRegistry) { (self.argument, self.registry) = (argument, registry) }

    /// Returns the first line, without its end.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` when it is empty, too long or not UTF-8, or contains a zero byte;
    ///   no error has a part of it.
    func password(_ context: BlobContext) throws(BlobError) -> String {
        var line = try LineReader(self.argument, self.registry, context).next() ?? []
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else { throw self.isWrong("is empty") }
        guard line.count <= Self.maximumByteCount else {
            throw self.isWrong("is longer than \(Self.maximumByteCount) bytes")
        }
        guard !line.contains(0), let password = String(validating: line, as: UTF8.self) else {
            throw self.isWrong("is not text in UTF-8")
        }
        return password
    }

    private func isWrong(_ what: String) -> BlobError {
        BlobError(
            .invalidArgument, "The first line of the password file '\(printableArgument(self.argument))' \(what).",
            operation: "read")
    }

    /// Returns the registry for the data of the command, in which standard input is refused if the password is there.
    static func registryForData(_ registry: BlobRegistry, besides argument: String?) -> BlobRegistry {
        guard let argument, (try? registry.locator(for: argument))?.origin.text == "stdin:" else { return registry }
        return registry.replacing([
            BlobProvider(
                .origin { _, _ in
                    throw BlobError(.invalidArgument, "Standard input has the password, and cannot have data, too.")
                }, schemes: ["stdin"])
        ])
    }
}
#endif
