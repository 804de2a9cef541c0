import Foundation

/// Counts the bytes that pass, for progress.
public struct CountingSource: BlobInputStreamDataSource {
    /// Told after each read: how many bytes it brought, the offset after it, and the byte count if known.
    public typealias OnBytes = @Sendable (_ count: Int, _ byteOffset: Int64, _ byteCount: Int64?) -> Void

    private let base: any BlobInputStreamDataSource
    private let onBytes: OnBytes

    /// Creates a layer over `base`. `onBytes` is called on the reading thread, and each reader counts for itself; the
    /// bytes also go to the event sink of the context.
    public init(_ base: any BlobInputStreamDataSource, onBytes: @escaping OnBytes) {
        self.base = base
        self.onBytes = onBytes
    }

    /// Those of the base.
    public var capabilities: BlobCapabilities { self.base.capabilities }

    /// That of the base: the bytes are the same.
    public var locator: BlobLocator? { self.base.locator }

    /// That of the base.
    public func info(_ context: BlobContext) throws -> BlobInfo { try self.base.checkedInfo(context) }

    /// Opens a reader of the base and counts what it reads.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let reader = try self.base.pollableReader(at: byteOffset, matching: validator, context: context)
        return CountingReader(reader) { count in
            self.onBytes(count, reader.byteOffset, reader.info.byteCount)
            context.eventSink?(.bytes(count))
        }
    }
}

extension BlobInputStreamDataSource {
    /// A layer over this source that keeps `progress` up to date, in bytes.
    ///
    /// Cancelling the progress cancels all readers of the layer. A cancellation handler that the progress has already
    /// is called too.
    public func reporting(to progress: Progress) -> some BlobInputStreamDataSource {
        ProgressSource(self, progress)
    }
}

private struct ProgressSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let progress: Progress
    private let cancellation = BlobCancellation()

    init(_ base: any BlobInputStreamDataSource, _ progress: Progress) {
        self.base = base
        self.progress = progress
        let (cancellation, earlier) = (self.cancellation, progress.cancellationHandler)
        progress.cancellationHandler = {
            earlier?()
            cancellation.cancel()
        }
        if progress.isCancelled { cancellation.cancel() }
    }

    var capabilities: BlobCapabilities { self.base.capabilities }
    var locator: BlobLocator? { self.base.locator }

    func info(_ context: BlobContext) throws -> BlobInfo { try self.base.checkedInfo(context) }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let context = context.makeChild()
        let progress = self.progress
        let registration = self.cancellation.onCancel { context.cancellation.cancel() }
        let reader = try self.base.pollableReader(at: byteOffset, matching: validator, context: context)
        progress.totalUnitCount = reader.info.byteCount ?? -1
        progress.completedUnitCount = byteOffset
        return CountingReader(reader, endingWith: (context, registration)) { _ in
            progress.completedUnitCount = reader.byteOffset
        }
    }
}

private final class CountingReader: BlobReader {
    private let base: BlobGuardedReader
    private let derived: DerivedReadiness?
    private let registrations: [BlobRegistration]
    private let onBytes: (Int) -> Void

    /// - Parameter job: A cancellation that whoever waits for an event-driven base does not know of, if there is one,
    ///   and what keeps it going.
    init(
        _ base: BlobGuardedReader,
        endingWith job: (context: BlobContext, registration: BlobRegistration)? = nil,
        onBytes: @escaping (Int) -> Void
    ) {
        self.base = base
        self.onBytes = onBytes
        guard let job else {
            (self.derived, self.registrations) = (nil, [])
            return
        }
        let derived = DerivedReadiness(following: base)
        self.derived = derived
        let failing = derived.map { derived in
            job.context.onCancel { derived.fail(BlobError(.cancelled, "The progress was cancelled.")) }
        }
        self.registrations = [job.registration] + (failing.map { [$0] } ?? [])
    }

    var info: BlobInfo { self.base.info }
    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state ?? self.base.readiness }
    func property(forKey key: Stream.PropertyKey) -> Any? { self.base.property(forKey: key) }
    func setProperty(_ value: Any?, forKey key: Stream.PropertyKey) -> Bool {
        self.base.setProperty(value, forKey: key)
    }

    func read(into output: inout OutputRawSpan) throws {
        let count: Int
        do {
            count = try output.append(atMost: .max) { try self.base.read(into: &$0) }
        } catch {
            self.derived?.fail(error)
            throw error
        }
        self.derived?.refresh(afterReading: count)
        if self.base.hasEnded { self.derived?.end() }
        if count > 0 { self.onBytes(count) }
    }

    func close() {
        for registration in self.registrations { registration.remove() }
        self.derived?.stop()
        self.base.close()
    }
}
