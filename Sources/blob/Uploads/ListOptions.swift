#if Command
import ArgumentParser

/// The options for uploading many files.
struct ListOptions: ParsableArguments {
    /// The maximum number of concurrent uploads. Each needs a file and two connections, one of which may be closing.
    private static let maximumJobCount = 256

    @Flag(
        name: .shortAndLong,
        help: .advanced(
            "Upload folders recursively (the default); print a line even for a single file.",
            discussion: "Uploaded paths begin with the name of the folder, unless the argument ends with '/'."))
    var recursive = false

    @Option(
        help: ArgumentHelp(
            "Also upload the sources that this file lists.",
            discussion:
                "The list has one locator per line, or locators that each end with a NUL; '-' is standard input.",
            valueName: "file"))
    var fromFile: String?

    @Option(
        help: .advanced(
            "Send this many files concurrently, from 1 to \(Self.maximumJobCount).", valueName: "count"))
    var jobs = 6

    @Option(
        help: .advanced(
            "Skip files that the server already has with the same digest (the default) or the same size.",
            discussion: """
                Queries the server with HEAD; if it does not support HEAD, everything is sent. The digest is taken \
                from Repr-Digest, Digest, Content-MD5, or an ETag that is an MD5 digest.
                """,
            valueName: "digest|size"))
    var skipExisting: ExistingCheck?

    @Option(
        help: .advanced(
            "Record completed uploads in this file, and skip unchanged sources recorded in it.",
            discussion: """
                Queries the server with HEAD to check that it still has the object, with the same length and, if \
                reported, the same digest or ETag as after the upload. If the server does not support HEAD (405 or \
                501), or the uploads use POST, the object is assumed to exist.
                """,
            valueName: "file"))
    var journal: String?

    func validate() throws {
        guard (1...Self.maximumJobCount).contains(self.jobs) else {
            throw ValidationError("--jobs must be a number from 1 to \(Self.maximumJobCount).")
        }
    }

    /// True if results are printed as one line per file, even for a single file.
    var printsLinePerFile: Bool {
        self.recursive || (self.fromFile ?? self.journal) != nil || self.skipExisting != nil
    }
}
#endif
