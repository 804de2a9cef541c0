import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the members of a container, one per line.",
        discussion: """
            Names are printed as they are accepted after a '#': control characters, '%', bytes that are not UTF-8, \
            '!', '#' and a leading '@' as %XX. If the status is 0, every check of the listing has passed.
            """)

    @Argument(help: "The archives to list, also inside other layers; 'x.tgz#dir/*' lists the members that match.")
    var locators: [String]

    @Flag(name: .short, help: "Print kind and permissions, length, time (UTC), index and name.")
    var long = false

    @Flag(help: "With -l, print lengths as people read them: 12.3 MB.")
    var human = false

    @Flag(help: "Print one JSON object per member.")
    var json = false

    @Option(help: "Show the number of members found so far: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.locators.isEmpty else { throw ValidationError("Name at least one archive.") }
        guard !self.long || !self.json else { throw ValidationError("-l goes without --json.") }
        guard !self.human || self.long else { throw ValidationError("--human goes with -l.") }
    }

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.source.makeContext()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        var failures = SourceFailures(isFailFast: self.locators.count == 1)
        let output = LineOutput(self.progress)
        var hasHeader = false
        for argument in self.locators {
            do {
                // As by ls(1); the objects tell their archive. One that cannot be read at all has no header.
                var header: String? = self.locators.count > 1 && !self.json ? printableArgument(argument) + ":" : nil
                let printHeader = {
                    guard let text = header else { return }
                    try output.print((hasHeader ? "\n" : "") + text)
                    (header, hasHeader) = (nil, true)
                }
                try self.list(argument, context) {
                    try printHeader()
                    try output.print(self.line($0, of: argument, encoder))
                }
                try printHeader()
            } catch {
                // The members found before the error are still valid.
                try output.flush()
                try failures.note(error)
            }
        }
        try output.flush()
        try failures.end()
    }

    private func line(_ member: BlobMember, of argument: String, _ encoder: JSONEncoder) throws -> String {
        guard self.json else { return self.long ? member.longLine(isHuman: self.human) : member.printableName }
        let report = MemberReport(member, of: self.locators.count > 1 ? argument : nil)
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }

    private func list(_ argument: String, _ context: BlobContext, _ body: (BlobMember) throws -> Void) throws {
        let registry = self.source.makeRegistry()
        let locator = try registry.locator(for: argument)
        do {
            let selection = registry.memberSelection(argument)
            let container =
                if let selection {
                    try registry.openContainer(for: selection.container, context)
                } else {
                    try registry.explainingWhatIsNoArchive(locator, context) { () throws(BlobError) in
                        try registry.openContainer(for: locator, context)
                    }
                }
            guard try Self.list(container, selection?.pattern, context, body) || selection == nil else {
                throw BlobError(.notFound, "No member matches the pattern.", operation: "resolve")
            }
        } catch {
            var error = BlobError(wrapping: error)
            error.locator = error.locator ?? locator.description
            throw error
        }
    }

    /// Calls `body` with the members that match a pattern, or with all; returns false when there is none.
    private static func list(
        _ container: any BlobContainer, _ pattern: MemberPattern?, _ context: BlobContext,
        _ body: (BlobMember) throws -> Void
    ) throws -> Bool {
        var isFound = false
        try container.forEachMember(context) { member in
            guard pattern?.matches(member.name) ?? true else { return true }
            isFound = true
            try body(member)
            return true
        }
        return isFound
    }
}

/// A buffer of lines for standard output, with a progress line of their number.
private final class LineOutput {
    private static let bufferByteCount = 64 * 1024
    private var buffer: [UInt8] = []
    private var lineCount = 0
    private let progress: ProgressLine

    init(_ progress: ProgressMode) { self.progress = ProgressLine(progress, of: .items("member")) }

    func print(_ line: String) throws {
        self.buffer.append(contentsOf: line.utf8)
        self.buffer.append(UInt8(ascii: "\n"))
        self.lineCount += 1
        self.progress.show(Int64(self.lineCount), of: nil)
        if self.buffer.count >= Self.bufferByteCount { try self.flush() }
    }

    func flush() throws {
        // The progress line may be on the same terminal.
        self.progress.clear()
        try self.buffer.withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO, named: "standard output") }
        self.buffer.removeAll(keepingCapacity: true)
    }
}

/// The JSON object of a member.
private struct MemberReport: Encodable {
    /// The argument; nil when there is one.
    let archive: String?
    /// The number of the member from 0: that of `@0`.
    let memberIndex: Int
    let name: String
    let kind: String
    let byteCount: Int64?
    let modificationTime: Date?
    /// The time in seconds from 1970 when it is outside of the calendar.
    let modificationSeconds: Double?
    let permissions: String?
    let checksum: String?
    let linkTarget: String?
    let isEncrypted: Bool?

    init(_ member: BlobMember, of archive: String?) {
        self.archive = archive
        self.memberIndex = member.index
        self.name = member.printableName
        self.kind = "\(member.kind)"
        self.byteCount = member.byteCount
        let time = member.modificationTime
        let isInCalendar = time?.isInCalendar ?? true
        self.modificationTime = isInCalendar ? time : nil
        self.modificationSeconds = isInCalendar ? nil : time?.timeIntervalSince1970
        self.permissions = member.permissions.map { String($0, radix: 8) }
        self.checksum = member.checksum
        self.linkTarget = member.linkTarget.map { BlobMember(index: 0, name: $0).printableName }
        self.isEncrypted = member.isEncrypted ? true : nil
    }
}

extension BlobMember {
    /// The columns of `ls -l`, with the index in the place of the owner.
    fileprivate func longLine(isHuman: Bool) -> String {
        let size = self.byteCount.map { isHuman ? byteCountText($0) : String($0) } ?? "-"
        let time = self.modificationTime.map(Self.format) ?? "-"
        let target = self.linkTarget.map { " -> \(BlobMember(index: 0, name: $0).printableName)" } ?? ""
        return
            "\(self.modeText) \(size.padded(to: isHuman ? 7 : 12)) \(time.padded(to: 16)) @\(self.index) \(self.printableName)\(target)"
    }

    private static func format(_ time: Date) -> String {
        guard time.isInCalendar else { return "outside calendar" }
        var seconds = time_t(time.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let numbers = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
        let date = zip(numbers, [4, 2, 2]).map { String($0).padded(to: $1, with: "0") }.joined(separator: "-")
        let clock = [parts.tm_hour, parts.tm_min].map { String($0).padded(to: 2, with: "0") }.joined(separator: ":")
        return "\(date) \(clock)"
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
        // The set-user-ID, set-group-ID and sticky bits are in the places of the permissions to execute.
        for (bit, place, mark) in [(11, 2, "s"), (10, 5, "s"), (9, 8, "t")] where permissions >> bit & 1 == 1 {
            letters[place] = Character(letters[place] == "x" ? mark : mark.uppercased())
        }
        return type + String(letters)
    }
}

extension String {
    fileprivate func padded(to width: Int, with character: Character = " ") -> String {
        String(repeating: character, count: max(0, width - self.count)) + self
    }
}
