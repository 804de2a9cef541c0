#if Command
import ArgumentParser

/// The options for uploads of many files.
struct ListOptions: ParsableArguments {
    /// The maximum number of concurrent uploads: each needs two connections, of which one may be closing, and a file.
    private static let maximumJobCount = 256

    @Flag(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Print a list even for a single file; folders are always uploaded recursively, with their paths.",
            discussion: "Paths begin with the name of the folder, unless the argument ends with '/'."))
    var recursive = false

    @Option(
        help: ArgumentHelp(
            """
            Also upload the sources listed in this file ('-': standard input), one per line, or each terminated by a \
            NUL.
            """,
            valueName: "file"))
    var fromFile: String?

    @Option(help: "The maximum number of concurrent uploads, from 1 to \(Self.maximumJobCount).")
    var jobs = 6

    @Option(
        help: ArgumentHelp(
            """
            Skip files that the server already has: with the same digest, if it states one (the default), or with the \
            same size.
            """,
            discussion: """
                Asks the server with HEAD; if it does not support HEAD, everything is sent. The digest comes from \
                Repr-Digest, Digest, Content-MD5, or an ETag that is an MD5.
                """,
            valueName: "digest|size"))
    var skipExisting: ExistingCheck?

    @Option(
        help: ArgumentHelp(
            "Add a line to this file for each completed upload, and skip unchanged sources that it lists.",
            discussion: """
                Asks the server with HEAD whether it still has the object: the same length, and the same digest or \
                ETag as after the upload, as far as it states them. A server that does not support HEAD (405 or 501), \
                or that takes POST, is assumed to have it.
                """,
            valueName: "file"))
    var journal: String?

    func validate() throws {
        guard (1...Self.maximumJobCount).contains(self.jobs) else {
            throw ValidationError("--jobs takes a number from 1 to \(Self.maximumJobCount).")
        }
    }

    /// True if results are one line per file, even for a single file.
    var isAsked: Bool {
        self.recursive || (self.fromFile ?? self.journal) != nil || self.skipExisting != nil
    }
}
#endif
