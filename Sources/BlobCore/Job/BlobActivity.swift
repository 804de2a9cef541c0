import BlobPlatform

/// A part of a job that is observed: the reading of a layer, a request, an upload or a download.
///
/// The framework begins one wherever the context of the job has one, which then is its parent. A context without one
/// costs a comparison for each reader and each request.
package final class BlobActivity: Sendable {
    package enum Kind: String, Sendable {
        case job, read, request, upload, download
    }

    /// The number of bytes after which the progress of a reader is reported before its end.
    static let progressByteCount: Int64 = 16 << 20

    package struct State: Sendable {
        package fileprivate(set) var readByteCount: Int64 = 0
        package fileprivate(set) var sentByteCount: Int64 = 0
        /// The status of a response.
        package fileprivate(set) var status: Int?
        /// The time from the beginning of a request to the end of the head of its response.
        package fileprivate(set) var timeToFirstByte: Duration?
        fileprivate var isOver = false
        fileprivate var attachment: (any Sendable)?
    }

    package let kind: Kind
    /// The name of the layer, or the method of a request.
    package let name: String
    /// The offset of the first byte.
    package let byteOffset: Int64
    package let parent: BlobActivity?
    private let makeSubject: @Sendable () -> String?
    private let scheme: String?
    private let observer: any BlobActivityObserver
    package let isRecording: Bool
    private let start = CompactInstant.now
    private let contents = Locked(State())

    /// Creates the activity of a whole job, which is not reported itself.
    ///
    /// - Parameter attachment: The observer's value for the job, such as a context of a tracer.
    package convenience init(observer: any BlobActivityObserver, attachment: (any Sendable)? = nil) {
        self.init(.job, "job", nil, 0, nil, observer) { nil }
        self.contents.withLock { $0.attachment = attachment }
    }

    private init(
        _ kind: Kind, _ name: String, _ scheme: String?, _ byteOffset: Int64, _ parent: BlobActivity?,
        _ observer: any BlobActivityObserver, _ subject: @escaping @Sendable () -> String?
    ) {
        (self.kind, self.name, self.scheme, self.byteOffset, self.parent) = (kind, name, scheme, byteOffset, parent)
        (self.observer, self.isRecording, self.makeSubject) = (observer, observer.isRecording, subject)
    }

    /// Begins a part of this activity.
    ///
    /// - Parameter subject: Returns the locator or the URL, without secrets; called only if it is reported.
    package func begin(
        _ kind: Kind, _ name: String, scheme: String?, at byteOffset: Int64 = 0,
        of subject: @escaping @Sendable () -> String?
    ) -> BlobActivity {
        let child = BlobActivity(kind, name, scheme, byteOffset, self, self.observer, subject)
        let attachment = self.observer.begin(child)
        child.contents.withLock { $0.attachment = attachment }
        return child
    }

    /// The locator of the layer, or the URL of the request, without secrets.
    package var subject: String? { self.makeSubject() }

    /// The scheme of the locator or of the URL; for a source in memory, the name of the layer.
    package var origin: String { self.scheme ?? self.name }

    package var state: State { self.contents.withLock { $0 } }

    /// The observer's value for the activity, such as a span.
    package var attachment: (any Sendable)? { self.contents.withLock { $0.attachment } }

    package var duration: Duration { .now - self.start }

    /// The fields by which a server recognises the request as a part of the job.
    package var requestFields: [(name: String, value: String)] { self.observer.requestFields(of: self) }

    package func report(_ event: BlobEvent) { self.observer.report(event, in: self) }

    /// Records the status of a response whose head has arrived.
    package func receivedHead(status: Int) {
        let time = self.duration
        self.contents.withLock { ($0.status, $0.timeToFirstByte) = (status, $0.timeToFirstByte ?? time) }
    }

    /// Records the numbers of bytes read and sent since the beginning.
    package func advance(read: Int64? = nil, sent: Int64? = nil) {
        let (newRead, newSent) = self.contents.withLock { state in
            let old = (state.readByteCount, state.sentByteCount)
            guard !state.isOver else { return (Int64(0), Int64(0)) }
            state.readByteCount = max(read ?? 0, old.0)
            state.sentByteCount = max(sent ?? 0, old.1)
            return (state.readByteCount - old.0, state.sentByteCount - old.1)
        }
        guard newRead > 0 || newSent > 0 else { return }
        self.observer.advance(self, read: newRead, sent: newSent)
        // An upload has sent what its requests have, also those that failed.
        if let parent, parent.kind == .upload { parent.contents.withLock { $0.sentByteCount += newSent } }
    }

    /// Ends the activity; later calls have no effect.
    package func end(_ error: BlobError? = nil) {
        let isFirst = self.contents.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { self.observer.end(self, error) }
    }
}

/// Observes the activities of jobs. Called on the threads of the job, which it must not block.
package protocol BlobActivityObserver: Sendable {
    /// False if nothing is done with what is observed; parts of a job then have no activities of their own. Constant.
    var isRecording: Bool { get }
    /// Returns the observer's value for an activity that begins, such as a span.
    func begin(_ activity: BlobActivity) -> (any Sendable)?
    func report(_ event: BlobEvent, in activity: BlobActivity)
    /// Counts bytes that were read and sent since the last call.
    func advance(_ activity: BlobActivity, read: Int64, sent: Int64)
    func end(_ activity: BlobActivity, _ error: BlobError?)
    func requestFields(of activity: BlobActivity) -> [(name: String, value: String)]
}

extension BlobActivityObserver {
    package var isRecording: Bool { true }

    package func requestFields(of activity: BlobActivity) -> [(name: String, value: String)] { [] }
}

extension BlobContext {
    /// Reports an event to the event sink, and to what observes the job.
    public func report(_ event: BlobEvent) {
        self.eventSink?(event)
        self.activity?.report(event)
    }

    /// True if events are reported to anyone.
    package var isObserved: Bool { self.eventSink != nil || self.activity?.isRecording == true }

    /// Returns this context for a part of the job, which has begun.
    package func beginning(
        _ kind: BlobActivity.Kind, _ name: @autoclosure () -> String, scheme: @autoclosure () -> String?,
        of subject: @escaping @Sendable () -> String?
    ) -> BlobContext {
        guard let activity, activity.isRecording else { return self }
        var context = self
        context.activity = activity.begin(kind, name(), scheme: scheme(), of: subject)
        return context
    }

    /// Returns this context for the use of a source.
    package func beginning(
        _ kind: BlobActivity.Kind, of source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0
    ) -> BlobContext {
        guard let activity, activity.isRecording else { return self }
        if kind == .read, (source as? any ForwardingSource)?.standsForBase == true { return self }
        let locator = source.locator
        var context = self
        context.activity = activity.begin(kind, source.layerName, scheme: locator?.scheme, at: byteOffset) {
            // The text of a data URL is its content.
            locator.map { $0.scheme.hasSuffix("data") ? "\($0.scheme):" : $0.description }
        }
        return context
    }

    /// Calls `body`, and ends the part of the job that has begun with this context.
    package func ending<Result>(_ body: () throws(BlobError) -> Result) throws(BlobError) -> Result {
        do throws(BlobError) {
            let result = try body()
            self.activity?.end()
            return result
        } catch {
            self.activity?.end(error)
            throw error
        }
    }
}
