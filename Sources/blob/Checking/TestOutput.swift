#if Command
import BlobCommandLine
import BlobStreamsStandard

/// The outcome of testing a member, or a source without members.
struct TestOutcome {
    /// The name, in a form that the command accepts as an argument.
    let name: String
    /// The index of a member in its archive; nil for a source that is not a member.
    var index: Int?
    /// The number of bytes read; nil for a member without content, such as a folder.
    var byteCount: Int64?
    var checks = PassedChecks()
    var error: BlobError?

    /// True if the bytes of the member were not read, so that the error says nothing about them.
    var isUntested: Bool {
        guard let code = self.error?.code else { return false }
        return code == .encrypted || self.index != nil && [.unsupported, .limitExceeded].contains(code)
    }

    /// True if bytes were read that none of this member's checksums cover.
    var lacksChecksum: Bool { self.error == nil && self.byteCount ?? 0 > 0 && !self.checks.coversBytes }

    fileprivate var fields: JSONObject {
        [
            "byte_count": self.byteCount, "checks": self.checks.all,
            "error": self.error.map { ErrorText($0).fields }, "index": self.index, "locator": self.name,
            "status": self.error == nil ? "ok" : self.isUntested ? "not tested" : "failed",
        ]
    }
}

/// The outcome of testing an archive.
struct ArchiveOutcome {
    let name: String
    var byteCount: Int64 = 0
    private(set) var memberCount = 0
    private(set) var failedCount = 0
    /// The number of members that could not be read, such as encrypted ones.
    private(set) var untestedCount = 0
    /// The number of members whose bytes are not covered by a checksum of their own.
    private(set) var lackingChecksumCount = 0
    /// The checks of the layers around the members.
    var layerChecks = PassedChecks()
    /// The checks of all members together.
    private(set) var memberChecks = PassedChecks()
    /// The error of the archive or of a layer around it, which may affect all members.
    var error: BlobError?

    init(name: String) { self.name = name }

    mutating func add(_ member: TestOutcome) {
        self.memberCount += 1
        self.byteCount += member.byteCount ?? 0
        self.memberChecks.add(member.checks)
        if member.lacksChecksum { self.lackingChecksumCount += 1 }
        if member.isUntested { self.untestedCount += 1 } else if member.error != nil { self.failedCount += 1 }
    }

    var isOK: Bool { self.error == nil && self.failedCount == 0 && self.untestedCount == 0 }

    /// The checks of the layers, followed by the checks of the members.
    fileprivate var allChecks: PassedChecks {
        var all = self.layerChecks
        all.add(self.memberChecks)
        return all
    }

    /// The verified checksums and the number of members without a checksum.
    private var checkText: String {
        var names = self.allChecks.all.compactMap(\.text)
        guard !names.isEmpty else { return "no checksum" }
        if self.lackingChecksumCount > 0, !self.layerChecks.coversBytes {
            names.append("\(self.lackingChecksumCount) without a checksum")
        }
        return names.joined(separator: ", ")
    }

    fileprivate var text: String {
        let members = "\(self.memberCount) member\(self.memberCount == 1 ? "" : "s")"
        guard !self.isOK else { return "OK, \(members), \(self.checkText)" }
        var parts: [String] = []
        if let error { parts.append(error.codeAndOffset) }
        if self.failedCount > 0 { parts.append("\(self.failedCount) of \(members)") }
        if self.untestedCount > 0 { parts.append("\(self.untestedCount) of \(members) not tested") }
        if self.failedCount + self.untestedCount == 0 { parts.append("after \(members)") }
        return "FAILED, \(parts.joined(separator: ", "))"
    }

    fileprivate var fields: JSONObject {
        [
            "byte_count": self.byteCount, "checks": self.allChecks.all,
            "error": self.error.map { ErrorText($0).fields }, "failed_count": self.failedCount, "locator": self.name,
            "member_count": self.memberCount, "not_tested_count": self.untestedCount,
            "status": self.isOK ? "ok" : "failed",
            "without_checksum_count": self.layerChecks.coversBytes ? 0 : self.lackingChecksumCount,
        ]
    }
}

/// Prints result lines to standard output.
struct TestOutput {
    let isJSON: Bool
    /// True to print a line for each member; false to print only the members that fail.
    let listsMembers: Bool

    /// Prints the outcome of a member if the options show it.
    func print(member: TestOutcome) throws {
        guard self.isJSON || self.listsMembers || member.error != nil else { return }
        try self.print(member, missing: "no checksum of its own")
    }

    func print(_ outcome: TestOutcome, missing: String = "no checksum") throws {
        guard !self.isJSON else { return try printLine(jsonLine(outcome.fields)) }
        guard outcome.error != nil || !Verbosity.isQuiet else { return }
        let text: String
        if let error = outcome.error {
            text = "\(outcome.isUntested ? "not tested" : "FAILED"), \(error.codeAndOffset)"
        } else if let byteCount = outcome.byteCount {
            let checks = outcome.checks.all.contains { $0.check != nil } ? outcome.checks.text : missing
            text = "OK, \(byteCount) byte\(byteCount == 1 ? "" : "s"), \(checks)"
        } else {
            text = "OK, no bytes of its own"
        }
        try printLine("\(outcome.name): \(text)")
    }

    func print(_ outcome: ArchiveOutcome) throws {
        guard !self.isJSON else { return try printLine(jsonLine(outcome.fields)) }
        guard !outcome.isOK || !Verbosity.isQuiet else { return }
        try printLine("\(outcome.name): \(outcome.text)")
    }
}

extension BlobError {
    /// The error code, and the byte offset if it is known.
    fileprivate var codeAndOffset: String {
        self.byteOffset.map { $0 > 0 ? "\(self.code) at byte \($0)" : "\(self.code)" } ?? "\(self.code)"
    }
}

/// The checks that the layers of a source reported, in the order in which the layers ended.
struct PassedChecks {
    /// A check that a layer performed, or the lack of a check, and the number of bytes concerned.
    struct Check: Encodable {
        let byteCount: Int64
        /// The name of the checksum; nil if the layer has none.
        let check: String?
        let layer: String

        private enum CodingKeys: String, CodingKey {
            case byteCount = "byte_count"
            case check, layer
        }

        var text: String? { self.check.map { "\(self.layer) \($0)" } }
    }

    private(set) var all: [Check] = []

    /// Adds checks, and sums the byte counts of equal checks.
    mutating func add(_ checks: PassedChecks) {
        for new in checks.all {
            if let index = self.all.firstIndex(where: { $0.layer == new.layer && $0.check == new.check }) {
                let sum = self.all[index].byteCount.addingReportingOverflow(new.byteCount).partialValue
                self.all[index] = Check(byteCount: sum, check: new.check, layer: new.layer)
            } else {
                self.all.append(new)
            }
        }
    }

    /// True if a checksum covers all bytes of one of the layers.
    var coversBytes: Bool {
        self.all.contains { $0.check != nil && self.missingCheck(of: $0.layer) == nil }
    }

    /// Returns the entry of a layer that reported a missing checksum; nil if the layer reported none.
    private func missingCheck(of layer: String) -> Check? { self.all.first { $0.layer == layer && $0.check == nil } }

    /// Returns true if a layer reported its end.
    func contains(layer: String) -> Bool { self.all.contains { $0.layer == layer } }

    /// The names of the checksums, such as `gzip CRC-32`, and the number of bytes without a checksum.
    var text: String {
        let names = self.all.compactMap(\.text)
        guard !names.isEmpty else { return "no checksum" }
        guard !self.coversBytes, let lack = self.all.first(where: { $0.check == nil }) else {
            return names.joined(separator: ", ")
        }
        return "\(names.joined(separator: ", ")), \(lack.byteCount) bytes without a checksum"
    }

    /// Collects the checks that the readers of a context report.
    final class Recorder: Sendable {
        private let checks = Locked(PassedChecks())

        /// Returns a context whose readers report their checks to this recorder, and all events to the sink of
        /// `context`.
        func context(_ context: BlobContext) -> BlobContext {
            var own = context
            own.eventSink = { [sink = context.eventSink] event in
                if let layer = event.layer {
                    var checks = PassedChecks()
                    checks.all = [Check(byteCount: event.value, check: event.check, layer: layer)]
                    self.checks.withLock { $0.add(checks) }
                }
                sink?(event)
            }
            return own
        }

        /// Returns and removes the checks recorded since the last call.
        func take() -> PassedChecks { self.checks.exchange(PassedChecks()) }
    }
}
#endif
