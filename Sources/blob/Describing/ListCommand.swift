#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the members of archives, and the files in folders and S3 buckets.",
        discussion: """
            Names are printed in the form accepted after a '#': control characters, '%', bytes that are not UTF-8, \
            '!', '#' and a leading '@' are written as %XX. Files in a folder and its subfolders, and objects in a store \
            below a URL that ends with '/', are printed in the form accepted as arguments. If the exit status is 0, \
            the listing has passed every check.

            EXAMPLES:
              blob ls -l --human backup.tgz
              blob ls s3://bucket/logs/
            """)

    @Argument(
        help: ArgumentHelp(
            "The archives, folders or s3://bucket/prefix/ to list.",
            discussion: """
                'x.tgz#dir/*' lists the matching members. Archives may be compressed, or members of other archives.
                """))
    var locators: [String]

    @Flag(
        name: .short,
        help: ArgumentHelp(
            "Also print kind, permissions, length, time and index.",
            discussion: "Times are in UTC."))
    var long = false

    @Flag(help: "With -l, print lengths such as 12.3 MB.")
    var human = false

    @Flag(help: "Print one JSON object per member.")
    var json = false

    @Option(help: .advanced("Show the number of members found so far: auto, always or never."))
    var progress = ProgressMode.auto

    @OptionGroup(title: "Web servers") var redirects: RedirectOptions

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.locators.isEmpty else { throw ValidationError("Specify at least one archive.") }
        guard !self.long || !self.json else { throw ValidationError("-l cannot be used with --json.") }
        guard !self.human || self.long else { throw ValidationError("--human requires -l.") }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.source.makeContext()
        let failures = SourceFailures(isFailFast: false)
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
                let errors = try self.list(argument, registry, context) { member, name in
                    try printHeader()
                    try output.print(self.line(member, of: argument, name))
                }
                try printHeader()
                if !errors.isEmpty { try output.flush() }
                for error in errors { try failures.record(error) }
            } catch {
                // The members found before the error are still valid.
                try output.flush()
                try failures.record(error)
            }
        }
        try output.flush()
        try failures.end()
    }

    /// - Parameter name: The argument that names a file or an object; nil for a member of an archive.
    private func line(_ member: BlobMember, of argument: String, _ name: String?) throws -> String {
        guard self.json else {
            return self.long ? member.longLine(isHuman: self.human, name) : name ?? member.printableName
        }
        return try jsonLine(member.fields(archive: self.locators.count > 1 && name == nil ? argument : nil, name))
    }

    /// Calls `body` with the files in a folder, the objects under a prefix, or the members that match the pattern in an
    /// argument, or with all members if it has no pattern.
    ///
    /// - Returns: The errors of single files.
    private func list(
        _ argument: String, _ registry: BlobRegistry, _ context: BlobContext,
        _ body: (_ member: BlobMember, _ name: String?) throws -> Void
    ) throws -> [BlobError] {
        let locator = try registry.locator(for: argument)
        if let path = registry.folderPath(argument) {
            let files = FolderFiles(in: path)
            let folder = argument.hasPrefix("file:") ? path : RawArguments.bytes(of: argument)
            for file in files.paths {
                let name = (folder.last == UInt8(ascii: "/") ? folder : folder + [UInt8(ascii: "/")]) + file
                guard let status = FileStatus(at: (path + [UInt8(ascii: "/")] + file).cString) else { continue }
                let member = BlobMember(
                    index: 0, name: file, byteCount: status.byteCount,
                    modificationTime: Date(timeIntervalSince1970: Double(status.modificationTime) / 1e9),
                    permissions: UInt16(truncatingIfNeeded: status.permissions))
                try body(member, registry.argument(forFile: name))
            }
            return files.errors
        }
        if let prefix = locator.s3Prefix {
            try self.source.forEachObject(below: prefix, context) { object in
                let member = BlobMember(
                    index: 0, name: [], byteCount: object.byteCount, modificationTime: object.modificationTime)
                try body(member, object.locator)
            }
            return []
        }
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
                try body(member, nil)
                return true
            }
            if !isFound, let selection { throw selection.noMatchError }
            return []
        } catch {
            var error = BlobError(wrapping: error)
            error.locator = error.locator ?? locator.description
            throw error
        }
    }
}

extension BlobRegistry {
    /// Returns the argument for a file: its path if that is printable and names the file, and otherwise its locator.
    fileprivate func argument(forFile path: [UInt8]) -> String {
        let locator = BlobLocator(filePath: path)
        guard let text = String(validating: path, as: UTF8.self), printable(text) == text, !text.hasPrefix("-"),
            (try? self.locator(for: text)) == locator
        else { return locator.text }
        return text
    }
}

extension SourceOptions {
    /// Calls `body` with the objects of a bucket whose keys begin with a prefix, in the order of the store.
    func forEachObject(
        below prefix: BlobLocator, _ context: BlobContext, _ body: (S3Listing.Object) throws -> Void
    ) throws {
        let settings = try self.connection.checkedSettings(context)
        let listing = try S3Listing(prefix, options: self.s3.options(settings))
        var token: String?
        repeat {
            let page = try waiting { [token] () throws(BlobError) in try await listing.page(token, context) }
            try page.objects.forEach(body)
            token = page.next
        } while token != nil
    }
}

extension BlobLocator {
    /// The locator if it names a bucket, or a prefix of keys that ends with '/'; nil for any other locator.
    var s3Prefix: BlobLocator? {
        let path = self.schemeSpecificPart
        guard self.scheme == "s3", self.selectors.isEmpty, path.hasSuffix("/") || !path.dropFirst(2).contains("/")
        else { return nil }
        return self
    }
}

extension BlobMember {
    /// Returns the JSON object of the member, with its zero-based index, as in `@0`; a time outside the calendar's
    /// range is in seconds since 1970.
    fileprivate func fields(archive: String?, _ name: String?) -> JSONObject {
        let time = self.modificationTime
        let isInCalendarRange = time?.isInCalendarRange ?? true
        return [
            "archive": archive, "member_index": name == nil ? self.index : nil, "name": name ?? self.printableName,
            "kind": "\(self.kind)",
            "byte_count": self.byteCount, "modification_time": isInCalendarRange ? time : nil,
            "modification_seconds": isInCalendarRange ? nil : time?.timeIntervalSince1970,
            "permissions": self.permissions.map { String($0, radix: 8) }, "checksum": self.checksum,
            "link_target": self.linkTarget.map { BlobMember(index: 0, name: $0).printableName },
            "is_encrypted": self.isEncrypted ? true : nil,
        ]
    }

    /// Returns the columns of `ls -l`, with the index in place of the owner.
    fileprivate func longLine(isHuman: Bool, _ name: String?) -> String {
        let size = self.byteCount.map { isHuman ? byteCountText($0) : String($0) } ?? "-"
        let time = self.modificationTime.map(Self.format) ?? "-"
        let target = self.linkTarget.map { " -> \(BlobMember(index: 0, name: $0).printableName)" } ?? ""
        return
            "\(self.modeText) \(size.padded(to: isHuman ? 7 : 12)) \(time.padded(to: 16)) \(name ?? "@\(self.index) \(self.printableName)")\(target)"
    }

    /// Formats a time to the minute, such as `2024-01-31 23:59`.
    private static func format(_ time: Date) -> String {
        guard time.isInCalendarRange else { return "outside calendar" }
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
