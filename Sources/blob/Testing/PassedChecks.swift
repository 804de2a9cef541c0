import BlobStreamsStandard

/// The checks that the layers of a source reported, in the order in which they ended.
struct PassedChecks {
    /// A check of a layer, or the lack of one, and the bytes that it covers.
    struct Check: Encodable {
        let byteCount: Int64
        /// The checksum; nil when the layer has none.
        let check: String?
        let layer: String

        var text: String? { self.check.map { "\(self.layer) \($0)" } }
    }

    private(set) var all: [Check] = []

    /// Adds checks, each to the same one that is there already.
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

    /// True when a checksum covers all bytes of one of the layers.
    var coverBytes: Bool {
        self.all.contains { $0.check != nil && self.lacks($0.layer) == nil }
    }

    /// Returns the lack of a checksum that a layer reported; nil when it reported none.
    private func lacks(_ layer: String) -> Check? { self.all.first { $0.layer == layer && $0.check == nil } }

    /// True when a layer reported its end.
    func include(_ layer: String) -> Bool { self.all.contains { $0.layer == layer } }

    /// The names of the checksums, such as `gzip CRC-32`, and the bytes that none covers.
    var text: String {
        let names = self.all.compactMap(\.text)
        guard !names.isEmpty else { return "no checksum" }
        guard !self.coverBytes, let lack = self.all.first(where: { $0.check == nil }) else {
            return names.joined(separator: ", ")
        }
        return "\(names.joined(separator: ", ")), \(lack.byteCount) bytes without a checksum"
    }

    /// Gathers the checks that the readers of a context report.
    final class Recorder: Sendable {
        private let checks = Locked(PassedChecks())

        /// Returns a context whose readers report here, and everything to the sink of `context`.
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

        /// Returns the checks since the last call.
        func take() -> PassedChecks { self.checks.exchange(PassedChecks()) }
    }
}
