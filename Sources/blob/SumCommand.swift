public import ArgumentParser
import BlobCommandLine
public import BlobStreamsStandard
import Foundation

struct SumCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sum", abstract: "Prints a digest of each locator, as sha256sum does.")

    @Argument(help: "The locators to read.")
    var locators: [String]

    @Option(help: "One of \(CryptoDigest.all.map(\.name).joined(separator: ", ")).")
    var algorithm = CryptoDigest.sha256

    @OptionGroup var reading: ReadingOptions

    func run() throws {
        let context = try self.reading.makeContext()
        var firstError: BlobError?
        var members = SharedMembers(self.locators, self.reading.registry)
        for (position, argument) in self.locators.enumerated() {
            do {
                let shared = try members.digest(position, context) { try self.digest($0, context) }
                let digest = try shared ?? self.digest(self.reading.source(argument, context), context)
                try printLine("\(digest.hexadecimal)  \(printableArgument(argument))")
            } catch {
                let error = BlobError(wrapping: error)
                // As in sha256sum, the others can still be read, unless the job is cancelled or the output closed.
                guard error.code != .cancelled, error.operation != "write" else { throw error }
                report(error)
                firstError = firstError ?? error
            }
        }
        if let firstError { throw ExitCode(firstError.code.exitStatus) }
    }

    private func digest(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> [UInt8] {
        let reader = try source.open(context: context)
        defer { reader.close() }
        var hasher = self.algorithm.makeHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copying.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        do {
            while case let count = try reader.readWaiting(into: buffer), count > 0 {
                hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        return hasher.finalize()
    }
}

extension CryptoDigest: ExpressibleByArgument {
    /// Creates the digest of this name, ignoring its case; nil if there is none.
    public init?(argument: String) {
        guard let digest = Self.all.first(where: { $0.name == argument.lowercased() }) else { return nil }
        self = digest
    }

    /// The name of the digest.
    public var defaultValueDescription: String { self.name }

    /// The names of all digests.
    public static var allValueStrings: [String] { Self.all.map(\.name) }
}

/// Returns an argument on one line, in a form that is accepted again: one with control characters as its locator.
func printableArgument(_ argument: String) -> String {
    guard printable(argument) != argument else { return argument }
    return (try? BlobRegistry.standard.locator(for: argument).description) ?? printable(argument)
}

/// Returns a name on one line: if it has control characters, they and `%` become `%XX`.
func printable(_ text: String) -> String {
    guard !text.unicodeScalars.allSatisfy(\.isPrintable) else { return text }
    return text.unicodeScalars.reduce(into: "") { printable, character in
        if character.isPrintable, character != "%" {
            printable.unicodeScalars.append(character)
        } else {
            printable += PercentEncoding.encode(String(character).utf8, leaving: [])
        }
    }
}
