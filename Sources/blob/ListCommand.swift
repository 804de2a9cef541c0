import ArgumentParser
import BlobCommandLine
import BlobStreamsStandard
import Foundation

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the members of a container, one per line.",
        discussion: """
            Names are printed as they are accepted after a '#': control characters, '%', bytes that are not UTF-8, \
            '!', '#' and a leading '@' as %XX. If the status is 0, every check of the listing has passed.
            """)

    @Argument(help: "The archive to list, also inside other layers.")
    var locator: String

    @Flag(name: .short, help: "Print kind and permissions, length, time (UTC), index and name.")
    var long = false

    @Flag(help: "Print one JSON object per member.")
    var json = false

    @Option(help: "Show the number of members found so far: auto, always, never.")
    var progress = ProgressMode.auto

    @OptionGroup var source: SourceOptions

    func validate() throws {
        guard !self.long || !self.json else { throw ValidationError("-l goes without --json.") }
    }

    func run() throws {
        let context = try self.source.makeContext()
        let registry = self.source.registry
        let locator = try registry.locator(for: self.locator)
        let container = try registry.container(for: locator, context: context)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        var output = LineOutput(self.progress)
        do {
            try container.forEachMember(context) { member in
                if self.json {
                    try output.print(String(decoding: encoder.encode(MemberReport(member)), as: UTF8.self))
                } else {
                    try output.print(self.long ? member.longLine : member.printableName)
                }
                return true
            }
        } catch {
            // The members found before the error are still valid.
            try output.flush()
            var error = BlobError(wrapping: error)
            error.locator = error.locator ?? locator.description
            throw error
        }
        try output.flush()
    }
}

/// A buffer of lines for standard output, with a progress line of their number.
private struct LineOutput {
    private static let bufferByteCount = 64 * 1024
    private var buffer: [UInt8] = []
    private var lineCount = 0
    private var progress: ProgressLine

    init(_ progress: ProgressMode) { self.progress = ProgressLine(progress) }

    mutating func print(_ line: String) throws {
        self.buffer.append(contentsOf: line.utf8)
        self.buffer.append(UInt8(ascii: "\n"))
        self.lineCount += 1
        self.progress.show(memberCount: self.lineCount)
        if self.buffer.count >= Self.bufferByteCount { try self.flush() }
    }

    mutating func flush() throws {
        // The progress line may be on the same terminal.
        self.progress.clear()
        try self.buffer.withUnsafeBytes { try writeAll($0, to: STDOUT_FILENO, named: "standard output") }
        self.buffer.removeAll(keepingCapacity: true)
    }
}

/// The JSON object of a member.
private struct MemberReport: Encodable {
    let index: Int
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

    init(_ member: BlobMember) {
        self.index = member.index
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
    fileprivate var longLine: String {
        let size = self.byteCount.map(String.init) ?? "-"
        let time = self.modificationTime.map(Self.format) ?? "-"
        let target = self.linkTarget.map { " -> \(BlobMember(index: 0, name: $0).printableName)" } ?? ""
        return
            "\(self.modeText) \(size.padded(to: 12)) \(time.padded(to: 16)) @\(self.index) \(self.printableName)\(target)"
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
            case .special: "s"
            }
        guard let permissions else { return type + "?????????" }
        let letters = zip("rwxrwxrwx", (0..<9).reversed()).map { permissions >> $1 & 1 == 1 ? $0 : "-" }
        return type + String(letters)
    }
}

extension String {
    fileprivate func padded(to width: Int, with character: Character = " ") -> String {
        String(repeating: character, count: max(0, width - self.count)) + self
    }
}
