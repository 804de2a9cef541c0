import ArgumentParser
import AssetLibrarySource
import BlobCommandLine
import BlobStreamsStandard
import Foundation

struct LibraryCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Compares the catalogue, the journal and the files of the library.",
        discussion: """
            Prints one line per finding: its kind (catalogue, journal, missing, size, content, digests, orphan, leftover), \
            the asset or the file, and what is wrong. The status is 65 when something is wrong that was not repaired.
            """)

    @Flag(help: "Read all originals, and compare the digests of their blocks.")
    var deep = false

    @Flag(
        help: """
            Make a lost or damaged catalogue again from the journal, set files aside that no row names and originals \
            with other bytes than were imported (found by --deep, or by their length), take good copies of originals \
            from the quarantine or mark them as missing, and fill in digests. Nothing is removed but what interrupted \
            imports have left.
            """)
    var repair = false

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        var isWrong = false
        let check = try LibraryCheck(
            of: LibraryLocation.folder(self.source.library), isDeep: self.deep, repairs: self.repair, context: context
        ) { finding in
            if !finding.isRepaired, finding.kind != .digests { isWrong = true }
            let end = finding.isRepaired ? " (repaired)" : ""
            try printLine("\(finding.kind.rawValue)  \(printable(finding.subject))  \(printable(finding.detail))\(end)")
        }
        if try !check.run() {
            ProgressLine.printNotice(
                "blob: files without rows were not looked for: the library is in use, or read-only\n")
        }
        if isWrong { throw ExitCode(BlobError.Code.corrupted.exitStatus) }
    }
}
