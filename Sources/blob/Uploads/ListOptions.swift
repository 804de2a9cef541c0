#if Command
import ArgumentParser

/// The options for uploads of many files.
struct ListOptions: ParsableArguments {
    /// The maximum number of concurrent uploads: each needs two connections, of which one may be closing, and a file.
    private static let maximumJobCount = 256

    @Flag(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Upload the files in folders, with their paths (default for folders); one file alone is then also a list.",
            discussion: "The name of a folder begins the paths, unless it is given with a '/' at its end."))
    var recursive = false

    @Option(
        help: ArgumentHelp(
            "Also upload the sources in this file ('-': standard input), one a line, or each with a NUL behind it.",
            valueName: "file"))
    var fromFile: String?

    @Option(help: "The number of uploads at once, from 1 to \(Self.maximumJobCount).")
    var jobs = 6

    @Option(
        help: ArgumentHelp(
            "Skip what is there: of the same digest, if the server tells one (the default), or of the same size.",
            discussion: """
                The server is asked by HEAD, and one that does not answer that gets all. The digest is that of \
                Repr-Digest, Digest, Content-MD5, or an ETag that is an MD5.
                """,
            valueName: "digest|size"))
    var skipExisting: ExistingCheck?

    @Option(
        help: ArgumentHelp(
            "Add a line to this file for each upload that is done, and skip what it says was done and is unchanged.",
            discussion: """
                The server is asked by HEAD whether it still has that: with the same length, and the digest or the ETag \
                of then, as far as it tells them. One that does not know HEAD (405 or 501) is believed to have it, and so \
                is one that takes POST.
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
