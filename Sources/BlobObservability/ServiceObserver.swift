#if Observability
import BlobCore
import BlobPlatform
import CoreMetrics
import Logging
import Tracing

/// Passes activities on to a logger, a metrics system and a tracer.
struct ServiceObserver: BlobActivityObserver {
    private let log: ActivityLog?
    private let metrics: ActivityMetrics?
    private let tracer: any Tracer
    let isRecording: Bool

    init(logger: Logger?, metrics: any MetricsFactory, tracer: any Tracer) {
        self.log = logger.map { logger in
            ActivityLog(from: ActivityLog.Level(logger.logLevel.rawValue) ?? .critical) {
                level, message, fields, activity in
                let level = Logger.Level(rawValue: "\(level)") ?? .info
                let metadata = Logger.Metadata(
                    fields.map { ("blob.\($0.name)", .stringConvertible($0.value)) }, uniquingKeysWith: { $1 })
                ServiceContext.withValue(activity.serviceContext) {
                    logger.log(level: level, "\(message)", metadata: metadata)
                }
            }
        }
        self.metrics = metrics is NOOPMetricsHandler ? nil : ActivityMetrics(factory: metrics)
        self.tracer = tracer
        self.isRecording = logger != nil || self.metrics != nil || !(tracer is NoOpTracer)
    }

    func begin(_ activity: BlobActivity) -> (any Sendable)? {
        let isRequest = activity.kind == .request
        let span: any Span = self.tracer.startSpan(
            isRequest ? activity.name : "\(activity.kind) \(activity.name)",
            context: activity.parent?.serviceContext ?? .topLevel, ofKind: isRequest ? .client : .internal)
        if span.isRecording {
            span.updateAttributes { isRequest ? $0.describe(request: activity) : $0.describe(activity) }
        }
        self.metrics?.begin(activity)
        _ = self.log?.begin(activity)
        return span
    }

    func advance(_ activity: BlobActivity, read: Int64, sent: Int64) {
        self.metrics?.advance(activity, read: read, sent: sent)
    }

    func report(_ event: BlobEvent, in activity: BlobActivity) {
        self.metrics?.report(event, in: activity)
        self.log?.report(event, in: activity)
        guard let span = activity.span, span.isRecording, let name = event.name else { return }
        var attributes: SpanAttributes = ["blob.value": .int64(event.value)]
        if let layer = event.layer { attributes["blob.format"] = layer }
        if let check = event.check { attributes["blob.check"] = check }
        if let attempt = event.attempt { attributes["blob.attempt"] = Int64(attempt) }
        span.addEvent(SpanEvent(name: name, attributes: attributes))
    }

    func end(_ activity: BlobActivity, _ error: BlobError?) {
        self.metrics?.end(activity, error)
        self.log?.end(activity, error)
        guard let span = activity.span else { return }
        if span.isRecording {
            span.updateAttributes { $0.describeEnd(of: activity, error) }
            if let error { span.setStatus(SpanStatus(code: .error, message: "\(error.code): \(error.message)")) }
        }
        span.end()
    }

    func requestFields(of activity: BlobActivity) -> [(name: String, value: String)] {
        guard let context = activity.serviceContext else { return [] }
        var fields: [(name: String, value: String)] = []
        self.tracer.inject(context, into: &fields, using: FieldInjector())
        return fields
    }
}

private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout [(name: String, value: String)]) {
        fields.append((key, value))
    }
}

extension SpanAttributes {
    fileprivate mutating func describe(_ activity: BlobActivity) {
        if activity.kind != .upload { self["blob.layer"] = activity.name }
        if let subject = activity.subject { self["blob.locator"] = subject }
        if activity.kind == .read { self["blob.offset"] = activity.byteOffset }
    }

    /// Sets the attributes of a request, with the names of OpenTelemetry's semantic conventions for HTTP spans.
    fileprivate mutating func describe(request: BlobActivity) {
        self["http.request.method"] = request.name
        self["blob.offset"] = request.byteOffset
        guard let text = request.subject else { return }
        self["url.full"] = text
        guard let url = URL(string: text) else { return }
        if let host = url.host { self["server.address"] = host }
        self["server.port"] = Int64(url.port ?? (url.scheme == "http" ? 80 : 443))
    }

    fileprivate mutating func describeEnd(of activity: BlobActivity, _ error: BlobError?) {
        let (state, isRequest) = (activity.state, activity.kind == .request)
        if state.readByteCount > 0 {
            self[isRequest ? "http.response.body.size" : "blob.bytes"] = state.readByteCount
        }
        if state.sentByteCount > 0 {
            self[isRequest ? "http.request.body.size" : "blob.sent"] = state.sentByteCount
        }
        if let status = state.status { self["http.response.status_code"] = Int64(status) }
        if let time = state.timeToFirstByte { self["blob.first_byte"] = time.timeInterval }
        if let error {
            self["error.type"] = "\(error.code)"
        } else if let status = state.status, status >= 400 {
            self["error.type"] = String(status)
        }
    }
}

extension BlobEvent {
    /// The name of the span event; nil if spans do not record this kind.
    fileprivate var name: String? {
        switch self.kind {
        case .invalidated: "changed"
        case .recovering: "retry"
        case .recovered: "recovered"
        case .indexBuilt: "index built"
        case .indexUsed: "index used"
        case .cacheUsed: "cache used"
        case .waitingForThread: "waiting for a thread"
        case .helperStarted: "helper started"
        case .verified: "verified"
        case .unverified: "unverified"
        default: nil
        }
    }
}
#endif
