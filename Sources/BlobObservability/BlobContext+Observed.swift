#if Observability
public import BlobCore
public import CoreMetrics
public import Logging
public import Tracing

extension BlobContext {
    /// Returns this context for a job that is logged, counted and traced, by default with what the program has
    /// bootstrapped for `swift-metrics` and `swift-distributed-tracing`.
    ///
    /// ```swift
    /// let context = BlobContext().observed(logger: logger)
    /// let digest = try await source.digest(CryptoDigest.sha256, context: context)
    /// ```
    ///
    /// Each upload by `BlobTransfer` and `S3Source`, each download, each reading of a layer and each request becomes a
    /// span whose parent is the enclosing one. Requests carry the header fields by which the server continues the trace,
    /// such as `traceparent`. Logs, metrics and spans contain no password, no signature and no query of a server's URL.
    /// The article *Logs, metrics and traces* lists their names.
    ///
    /// - Parameters:
    ///   - logger: A logger, which is used from the level that it has now; nil, the default, for no log. Entries are
    ///     made on the threads of the job, with the context of the service set for metadata providers.
    ///   - metrics: The factory of the metrics.
    ///   - tracer: The tracer of the spans.
    ///   - serviceContext: The context of the service, with the parent of the job's spans; by default, the context of
    ///     the current task.
    public func observed(
        logger: Logger? = nil, metrics: any MetricsFactory = MetricsSystem.factory,
        tracer: any Tracer = InstrumentationSystem.tracer, serviceContext: ServiceContext? = .current
    ) -> BlobContext {
        var context = self
        context.activity = BlobActivity(
            observer: ServiceObserver(logger: logger, metrics: metrics, tracer: tracer),
            attachment: serviceContext ?? .topLevel)
        return context
    }

    /// The context of the service for this part of the job, with its span; nil for a job that is not observed.
    public var serviceContext: ServiceContext? { self.activity?.serviceContext }
}

extension BlobActivity {
    /// The span of the activity; the whole job has none.
    var span: (any Span)? { self.attachment as? any Span }

    /// The service context with the activity's span; until the span exists, the parent's service context.
    var serviceContext: ServiceContext? {
        self.span?.context ?? self.attachment as? ServiceContext ?? self.parent?.serviceContext
    }
}
#endif
