import ArgumentParser
import BlobStreamsStandard
import BlobTransfer
import Foundation

/// The options of reading from web servers.
struct WebOptions: ParsableArguments {
    private static let maximumHeaderFileByteCount = 64 * 1024

    @Option(
        help: ArgumentHelp(
            "Send the header fields in this file to the web server of a source: 'Name: value', one a line.",
            valueName: "file"))
    var headerFile: String?

    @Flag(help: "Take users and passwords for web servers from ~/.netrc.")
    var netrc = false

    @Option(help: ArgumentHelp("Take users and passwords for web servers from this file.", valueName: "file"))
    var netrcFile: String?

    @Option(
        help: ArgumentHelp("Trust web servers by the certificates in this file, in PEM, only.", valueName: "file"))
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "Read from web servers through this proxy; '' is none (default: as the environment says).",
            valueName: "url"))
    var proxy: String?

    @OptionGroup var store: StoreOptions

    /// Returns a registry whose web sources have these options.
    func applied(to registry: BlobRegistry) -> BlobRegistry {
        var registry = self.store.applied(to: registry, certificateFile: self.caFile, proxy: self.proxy)
        guard self.headerFile != nil || self.netrc || (self.netrcFile ?? self.caFile ?? self.proxy) != nil else {
            return registry
        }
        let provider = BlobProvider(
            .origin { locator, context in
                try HTTPSource(locator, options: Self.options.withLock { try $0 ?? self.make(&$0, context) })
            }, schemes: HTTPSource.provider.schemes)
        do {
            try registry.register(provider, replacing: true)
        } catch {
            preconditionFailure("Registered schemes can be replaced: \(error)")
        }
        return registry
    }

    /// The options of the command, once a locator needed them.
    private static let options = Locked<HTTPSource.Options?>(nil)

    private func make(_ made: inout HTTPSource.Options?, _ context: BlobContext) throws -> HTTPSource.Options {
        var options = HTTPSource.Options()
        options.certificateFile = self.caFile
        options.proxy = self.proxy
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        options.netrcFile = self.netrcFile ?? (self.netrc ? "\(home)/.netrc" : nil)
        for file in [options.certificateFile, options.netrcFile].compactMap(\.self) {
            _ = try FileSource(path: file).info(context)
        }
        if let headerFile { options.headers = try Self.fields(in: headerFile, context) }
        made = options
        return options
    }

    private static func fields(in file: String, _ context: BlobContext) throws -> [(name: String, value: String)] {
        let bytes = try FileSource(path: file).data(upTo: self.maximumHeaderFileByteCount, context: context)
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        return try lines.enumerated().map { index, line in
            // Not the line itself, which may be a secret.
            guard let field = HTTPField(line: String(line)) else {
                throw BlobError(
                    .invalidArgument, "Line \(index + 1) of '\(printableArgument(file))' is no 'Name: value'.")
            }
            return (field.name, field.value)
        }
    }
}
