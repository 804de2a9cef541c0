#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the members of archives.",
        discussion: """
            Names are printed in the form accepted after a '#': control characters, '%', bytes that are not UTF-8, \
            '!', '#' and a leading '@' are written as %XX. If the exit status is 0, the listing has passed every check.

            EXAMPLES:
              blob ls -l --human backup.tgz
              blob ls 'https://example.com/site.zip#docs/*'
            """)

    @Argument(
        help: ArgumentHelp(
            "The archives; 'x.tgz#dir/*' lists matching members.",
            discussion: """
                They may be compressed, or members of other archives.
                """))
    var locators: [String]

    @Flag(
        name: .short,
        help: ArgumentHelp(
            "Also print kind, permissions, length, time and index.",
            discussion: """
                Times are in UTC.
                """))
    var long = false

    @Flag(help: "With -l, print lengths such as 12.3 MB.")
    var human = false

    @Flag(help: "Print one JSON object per member.")
    var json = false

    @Option(help: .advanced("Show the number of members found so far: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.locators.isEmpty else { throw ValidationError("Specify at least one archive.") }
        guard !self.long || !self.json else { throw ValidationError("-l cannot be used with --json.") }
        guard !self.human || self.long else { throw ValidationError("--human requires -l.") }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.source.makeContext()
        let failures = SourceFailures(isFailFast: self.locators.count == 1)
        let output = LineOutput(ProgressLine(self.progress, of: .items("member")))
        let registry = self.source.makeRegistry()
        var hasHeader = false
        for argument in self.locators {
            do {
                // A header as in ls(1); JSON objects name their archive themselves. An archive that cannot be read gets
                // no header.
                var header: String? = self.locators.count > 1 && !self.json ? printableArgument(argument) + ":" : nil
                let printHeader = {
                    guard let text = header else { return }
                    try output.print((hasHeader ? "\n" : "") + text)
                    (header, hasHeader) = (nil, true)
                }
                try Self.list(argument, registry, context) {
                    try printHeader()
                    try output.print(self.line($0, of: argument))
                }
                try printHeader()
            } catch {
                // The members found before the error are still valid.
                try output.flush()
                try failures.record(error)
            }
        }
        try output.flush()
        try failures.end()
    }

    private func line(_ member: BlobMember, of argument: String) throws -> String {
        guard self.json else { return self.long ? member.longLine(isHuman: self.human) : member.printableName }
        return try jsonLine(member.fields(archive: self.locators.count > 1 ? argument : nil))
    }

    /// Calls `body` with the members that match the pattern in an argument, or with all members if it has no pattern.
    private static func list(
        _ argument: String, _ registry: BlobRegistry, _ context: BlobContext, _ body: (BlobMember) throws -> Void
    ) throws {
        let locator = try registry.locator(for: argument)
        do {
            let selection = registry.memberSelection(argument)
            let archive = selection?.container ?? locator
            let container = try registry.describingNonArchive(archive, context) { () throws(BlobError) in
                try registry.openContainer(for: archive, context)
            }
            var isFound = selection == nil
            try container.forEachMember(context) { member in
                guard selection?.pattern.matches(member.name) ?? true else { return true }
                isFound = true
                try body(member)
                return true
            }
            guard isFound else { throw BlobError(.notFound, "No member matches the pattern.", operation: "resolve") }
        } catch {
            var error = BlobError(wrapping: error)
            error.locator = error.locator ?? locator.description
            throw error
        }
    }
}

extension BlobMember {
    /// Returns the JSON object of the member, with its zero-based index, as in `@0`; a time outside the calendar's
    /// range is in seconds since 1970.
    fileprivate func fields(archive: String?) -> JSONObject {
        let time = self.modificationTime
        let isInCalendar = time?.isInCalendar ?? true
        return [
            "archive": archive, "member_index": self.index, "name": self.printableName, "kind": "\(self.kind)",
            "byte_count": self.byteCount, "modification_time": isInCalendar ? time : nil,
            "modification_seconds": isInCalendar ? nil : time?.timeIntervalSince1970,
            "permissions": self.permissions.map { String($0, radix: 8) }, "checksum": self.checksum,
            "link_target": self.linkTarget.map { BlobMember(index: 0, name: $0).printableName },
            "is_encrypted": self.isEncrypted ? true : nil,
        ]
    }

    /// Returns the columns of `ls -l`, with the index in place of the owner.
    fileprivate func longLine(isHuman: Bool) -> String {
        let size = self.byteCount.map { isHuman ? byteCountText($0) : String($0) } ?? "-"
        let time = self.modificationTime.map(Self.format) ?? "-"
        let target = self.linkTarget.map { " -> \(BlobMember(index: 0, name: $0).printableName)" } ?? ""
        return
            "\(self.modeText) \(size.padded(to: isHuman ? 7 : 12)) \(time.padded(to: 16)) @\(self.index) \(self.printableName)\(target)"
    }

    /// Formats a time to the minute, such as `2024-01-31 23:59`.
    private static func format(_ time: Date) -> String {
        guard time.isInCalendar else { return "outside calendar" }
        let second = Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.down))
        return String(second.ISO8601Format().prefix(16)).replacing("T", with: " ")
    }

    private var modeText: String {
        let type =
            switch self.kind {
            case .file: self.isEncrypted ? "*" : "-"
            case .directory: "d"
            case .symbolicLink: "l"
            case .hardLink: "h"
            case .special:
                switch self.specialKind {
                case .characterDevice: "c"
                case .blockDevice: "b"
                case .fifo: "p"
                case .socket: "s"
                case nil: "?"
                }
            }
        guard let permissions else { return type + "?????????" }
        var letters: [Character] = zip("rwxrwxrwx", (0..<9).reversed()).map { permissions >> $1 & 1 == 1 ? $0 : "-" }
        // The set-user-ID, set-group-ID and sticky bits are shown in place of the execute permissions.
        for (bit, place, mark) in [(11, 2, "s"), (10, 5, "s"), (9, 8, "t")] where permissions >> bit & 1 == 1 {
            letters[place] = Character(letters[place] == "x" ? mark : mark.uppercased())
        }
        return type + String(letters)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - self.count)) + self
    }
}
#endif
