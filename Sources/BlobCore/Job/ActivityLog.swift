import BlobPlatform

/// Writes the activities of jobs to a log.
package struct ActivityLog: BlobActivityObserver {
    /// The levels of swift-log.
    package enum Level: Int, CaseIterable, Comparable, Sendable {
        case trace, debug, info, notice, warning, error, critical

        package init?(_ name: String) {
            guard let level = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
            self = level
        }

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package typealias Field = (name: String, value: any Encodable & CustomStringConvertible & Sendable)

    private let minimum: Level
    private let write: @Sendable (Level, _ message: String, [Field], BlobActivity) -> Void

    package init(
        from minimum: Level, write: @escaping @Sendable (Level, _ message: String, [Field], BlobActivity) -> Void
    ) {
        (self.minimum, self.write) = (minimum, write)
    }

    package func begin(_ activity: BlobActivity) -> (any Sendable)? {
        if self.minimum <= .trace { self.write(.trace, "\(activity.kind) began", Self.fields(of: activity), activity) }
        return nil
    }

    package func advance(_ activity: BlobActivity, read: Int64, sent: Int64) {}

    package func report(_ event: BlobEvent, in activity: BlobActivity) {
        guard let (level, message) = event.entry, level >= self.minimum else { return }
        var fields = Self.fields(of: activity) + [("value", event.value)]
        if let layer = event.layer { fields.append(("format", layer)) }
        if let check = event.check { fields.append(("check", check)) }
        if let attempt = event.attempt { fields.append(("attempt", attempt)) }
        if let delay = event.delay { fields.append(("delay", delay.rounded)) }
        self.write(level, message, fields, activity)
    }

    package func end(_ activity: BlobActivity, _ error: BlobError?) {
        let isTransfer = activity.kind == .upload || activity.kind == .download
        let level = isTransfer || error != nil ? Level.info : .debug
        guard level >= self.minimum else { return }
        let state = activity.state
        var fields = Self.fields(of: activity) + [("seconds", activity.duration.rounded)]
        if state.readByteCount > 0 { fields.append(("bytes", state.readByteCount)) }
        if state.sentByteCount > 0 { fields.append(("sent", state.sentByteCount)) }
        if let status = state.status { fields.append(("status", status)) }
        if let time = state.timeToFirstByte { fields.append(("first_byte", time.rounded)) }
        if let error { fields.append(("reason", "\(error.code): \(error.message)")) }
        self.write(level, "\(activity.kind) \(error == nil ? "ended" : "failed")", fields, activity)
    }

    private static func fields(of activity: BlobActivity) -> [Field] {
        let isHTTP = activity.kind == .request || activity.kind == .upload
        var fields: [Field] = [(isHTTP ? "method" : "layer", activity.name)]
        if let subject = activity.subject { fields.append((isHTTP ? "url" : "locator", subject)) }
        if activity.kind == .request || activity.kind == .read { fields.append(("offset", activity.byteOffset)) }
        return fields
    }
}

extension Duration {
    /// The number of seconds, in whole microseconds.
    fileprivate var rounded: Double { (self.timeInterval * 1e6).rounded() / 1e6 }
}

extension BlobEvent {
    /// The level and the message of the event in a log; nil if it is not logged.
    fileprivate var entry: (ActivityLog.Level, String)? {
        switch self.kind {
        case .invalidated: (.notice, "the content changed")
        case .recovering: (.notice, "an attempt failed and will be repeated")
        case .recovered: (.notice, "an attempt succeeded after a failure")
        case .indexBuilt: (.info, "an index was built")
        case .indexUsed: (.debug, "an index is used")
        case .cacheUsed: (.debug, "bytes were served without a request")
        case .waitingForThread: (.notice, "a call waits for a thread")
        case .helperStarted where self.value == 0: (.debug, "a helper process was started")
        case .helperStarted: (.warning, "a helper process was started that the system does not confine completely")
        case .verified: (.debug, "bytes passed a check")
        case .unverified: (.debug, "bytes could not be checked")
        default: nil
        }
    }
}
