import ArgumentParser
import BlobStreamsStandard
import Foundation

/// The options of all commands that read from locators.
struct SourceOptions: ParsableArguments {
    @Option(help: "Fail if nothing arrives for this many seconds (default: 60 from web servers, otherwise never).")
    var idleTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "Where indexes for random access are kept: auto (in the user's cache folder), none, or a file.",
            valueName: "auto|none|path"))
    var index = BlobIndexPolicy.automatic

    @Option(
        help: ArgumentHelp(
            "Fail rather than copy an archive of more bytes than this to a temporary file (default: 1073741824).",
            valueName: "bytes"))
    var spoolLimit: Int64?

    @Option(
        help: ArgumentHelp(
            "Fail if compressed data decode to more than this many times their length, after the first mebibyte.",
            valueName: "ratio"))
    var maxRatio: Int?

    @Option(
        help: ArgumentHelp(
            "Read encrypted zips and 7z with the password in the first line of this file ('-': standard input).",
            valueName: "file"))
    var passwordFile: String?

    @Option(help: "The folder of the asset library (default: \(LibraryLocation.variable) in the environment).")
    var library: String?

    @Option(
        help: """
            Read archives of this format even without the program blob-archive-helper, in this process (may be given \
            more than once): \(ArchiveFormat.isolated.map(\.rawValue).sorted().joined(separator: ", ")). Their readers \
            are known to fail badly on damaged archives.
            """)
    var allowFormat: [ArchiveFormat] = []

    @OptionGroup var web: WebOptions

    /// The registry of everything that locators can name.
    var registry: BlobRegistry { PasswordFile.registryForData(self.fullRegistry, besides: self.passwordFile) }

    private var fullRegistry: BlobRegistry {
        self.web.applied(to: .forCommand(library: self.library, allowing: Set(self.allowFormat)))
    }

    var idleLimit: Duration? { self.idleTimeout.map { .seconds($0) } }

    func validate() throws {
        if let spoolLimit, spoolLimit < 0 { throw ValidationError("--spool-limit takes a number of bytes from 0.") }
        if let maxRatio, maxRatio < 1 { throw ValidationError("--max-ratio takes a number from 1.") }
        try Seconds.validate(self.idleTimeout, "--idle-timeout")
    }

    /// Returns the context of the command. Called once: reads the password file.
    func makeContext() throws(BlobError) -> BlobContext {
        var context = Interrupts.makeContext(idleLimit: self.idleLimit)
        context.ratioLimit = self.maxRatio
        context.index = self.index
        if let spoolLimit { context.spoolLimit = spoolLimit }
        context.mayBlock = true  // Commands may block the threads on which they read.
        if let passwordFile {
            let password = try PasswordFile(passwordFile, self.fullRegistry).password(context)
            context.password = { _ in password }
        }
        return context
    }

    func source(_ argument: String, _ context: BlobContext) throws(BlobError) -> any BlobInputStreamDataSource {
        try self.registry.source(for: argument, context: context)
    }

    /// Throws when `source` does not exist or can be read only once; `purpose` ends the sentence.
    func requireRepeatable(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext, purpose: String
    ) throws(BlobError) {
        // The source's own error comes first: that a folder is not repeatable is not its main problem.
        _ = try source.info(context)
        guard source.traits.contains(.repeatable) else {
            throw BlobError(
                .unsupported, "This source can be read only once, \(purpose).", locator: source.locator?.description)
        }
    }

    /// Calls `body` with each line of a file of locators or ranges, as it arrives; '-' is standard input.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for a line longer than 1 MiB.
    func forEachLine(of argument: String, _ context: BlobContext, _ body: (String) throws -> Void) throws {
        let reader = try self.source(argument, context).open(context: context)
        defer { reader.close() }
        var rest = Data()
        let maximumLineByteCount = 1 << 20  // As `lines(ofAtMost:)` has it.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copying.bufferByteCount, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.readWaiting(into: buffer), count > 0 {
            rest.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                try body(RawArguments.decoded(Array(rest[..<end])))
                rest = rest[(end + 1)...]
            }
            rest = Data(rest)
            guard rest.count <= maximumLineByteCount else {
                throw BlobError(
                    .limitExceeded, "A line is longer than \(maximumLineByteCount) bytes.",
                    operation: "read", byteOffset: reader.byteOffset - Int64(rest.count))
            }
        }
        if !rest.isEmpty { try body(RawArguments.decoded(Array(rest))) }
    }
}
