#if Observability
import BlobCore
import BlobPlatform
import CoreMetrics

/// Counts what jobs do.
struct ActivityMetrics: Sendable {
    private let factory: any MetricsFactory
    private let openReaders: Meter
    private let threads: Meter

    init(factory: any MetricsFactory) {
        self.factory = factory
        self.openReaders = Meter(label: "blob.readers.open", factory: factory)
        self.threads = Meter(label: "blob.pool.threads", factory: factory)
    }

    func begin(_ activity: BlobActivity) {
        if activity.kind == .read { self.openReaders.increment() }
        self.threads.set(BlockingPool.threadCount)
    }

    func advance(_ activity: BlobActivity, read: Int64, sent: Int64) {
        // The readers and the requests of a download count its bytes.
        guard activity.kind != .download else { return }
        let isRequest = activity.kind == .request
        let dimensions = [("scheme", activity.origin)] + (isRequest ? [] : [("layer", Self.layer(of: activity))])
        if read > 0 { self.count(isRequest ? "blob.received.bytes" : "blob.read.bytes", by: read, dimensions) }
        if sent > 0 { self.count("blob.sent.bytes", by: sent, dimensions) }
    }

    func report(_ event: BlobEvent, in activity: BlobActivity) {
        let layer = [("layer", Self.layer(of: activity))]
        switch event.kind {
        case .invalidated: self.count("blob.changes", layer)
        case .recovering: self.count("blob.retries", layer)
        case .recovered: self.count("blob.recoveries", layer)
        case .indexBuilt: self.count("blob.index.builds", layer)
        case .indexUsed: self.count("blob.index.hits", layer)
        case .cacheUsed: self.count("blob.cache.hits", layer)
        case .waitingForThread: self.count("blob.pool.waits")
        case .helperStarted: self.count("blob.helpers")
        case .verified:
            let check = [("format", event.layer ?? ""), ("check", event.check ?? "")]
            self.count("blob.verified.bytes", by: event.value, check)
        case .unverified: self.count("blob.unverified.bytes", by: event.value, [("format", event.layer ?? "")])
        default: break
        }
    }

    func end(_ activity: BlobActivity, _ error: BlobError?) {
        self.threads.set(BlockingPool.threadCount)
        switch activity.kind {
        case .read: self.openReaders.decrement()
        case .request: self.endRequest(activity, error)
        case .upload, .download:
            self.time("blob.\(activity.kind).duration", activity.duration, [("error", Self.text(error))])
        case .job: break
        }
        if let error, activity.kind != .request {
            self.count("blob.errors", [("layer", Self.layer(of: activity)), ("error", Self.text(error))])
        }
    }

    private func endRequest(_ request: BlobActivity, _ error: BlobError?) {
        let state = request.state
        let dimensions = [("method", request.name), ("scheme", request.origin)]
        let outcome = dimensions + [("status", state.status.map(String.init) ?? ""), ("error", Self.text(error))]
        self.count("blob.requests", outcome)
        self.time("http.client.request.duration", request.duration, outcome)
        if let time = state.timeToFirstByte { self.time("blob.first_byte.duration", time, dimensions) }
    }

    private static func layer(of activity: BlobActivity) -> String {
        activity.kind == .upload ? "upload" : activity.name
    }

    private static func text(_ error: BlobError?) -> String { error.map { "\($0.code)" } ?? "" }

    private func count(_ label: String, by amount: Int64 = 1, _ dimensions: [(String, String)] = []) {
        Counter(label: label, dimensions: dimensions, factory: self.factory).increment(by: amount)
    }

    private func count(_ label: String, _ dimensions: [(String, String)]) { self.count(label, by: 1, dimensions) }

    private func time(_ label: String, _ duration: Duration, _ dimensions: [(String, String)]) {
        Timer(label: label, dimensions: dimensions, factory: self.factory).recordSeconds(duration.timeInterval)
    }
}
#endif
