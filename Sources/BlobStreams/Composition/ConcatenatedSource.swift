/// Several sources, one after the other, as one.
///
/// The length is known when that of every part is; it seeks when every part does. A part whose content changes after
/// the opening is ``BlobError/Code/changed``, so the parts of one pass always belong together.
public struct ConcatenatedSource: BlobInputStreamDataSource {
    private let parts: [any BlobInputStreamDataSource]
    private let isTaken = Locked(false)

    /// Creates a source of the bytes of `parts` in order; none is an empty blob.
    public init(_ parts: [any BlobInputStreamDataSource]) { self.parts = parts }

    /// What all parts can do; event-driven when one part is.
    public var capabilities: BlobCapabilities {
        let ofParts = self.parts.map(\.capabilities)
        let common = ofParts.reduce(BlobCapabilities.all) { $0.intersection($1) }
        return ofParts.contains { $0.contains(.eventDriven) } ? common.union(.eventDriven) : common
    }

    /// The sum of the lengths; the validator is made from those of all parts. Asks every part.
    public func info(_ context: BlobContext) throws -> BlobInfo {
        Self.joined(try self.partInfos(context))
    }

    /// Asks every part for its info, then opens the one that holds `byteOffset`.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let infos = try self.partInfos(context)
        let info = Self.joined(infos)
        try info.check(byteOffset: byteOffset, matching: validator)
        // Refused now and not when the part is reached that is read only once.
        let capabilities = self.capabilities
        guard capabilities.contains(.repeatable) || self.isTaken.takeOnce() else {
            throw BlobError(.unsupported, "A part of this source passes by once, and was taken already.")
        }
        var offset = byteOffset
        var index = 0
        while index < self.parts.count, let byteCount = infos[index].byteCount, offset >= byteCount {
            offset -= byteCount
            index += 1
        }
        let parts = zip(self.parts, infos).dropFirst(index).map(ConcatenatedReader.Part.init)
        // A part of unknown length may end before the offset: only reading through it can tell.
        let isWithinFirst = infos.dropFirst(index).first.map { $0.byteCount != nil } ?? true
        let reader = try ConcatenatedReader(
            parts, firstOffset: isWithinFirst ? offset : 0, isEventDriven: capabilities.contains(.eventDriven),
            info: info, context: context)
        return isWithinFirst ? reader : SkippingReader(reader, bytesToSkip: offset)
    }

    private func partInfos(_ context: BlobContext) throws(BlobError) -> [BlobInfo] {
        var infos: [BlobInfo] = []
        for part in self.parts { infos.append(try part.checkedInfo(context)) }
        return infos
    }

    private static func joined(_ infos: [BlobInfo]) -> BlobInfo {
        let total = infos.reduce(Int64?(0)) { sum, info in
            guard let sum, let byteCount = info.byteCount else { return nil }
            let (total, overflows) = sum.addingReportingOverflow(byteCount)
            return overflows ? nil : total
        }
        let validators = infos.compactMap(\.validator)
        return BlobInfo(
            byteCount: total, validator: validators.count == infos.count ? .combined("parts", validators) : nil)
    }
}

private final class ConcatenatedReader: BlobReader {
    struct Part {
        let source: any BlobInputStreamDataSource
        let info: BlobInfo
    }

    let info: BlobInfo
    private var rest: ArraySlice<Part>
    private let context: BlobContext
    private var current: BlobGuardedReader?
    private var derived: DerivedReadiness?
    private var failure: (any Error)?
    private var isClosed = false

    init(_ parts: [Part], firstOffset: Int64, isEventDriven: Bool, info: BlobInfo, context: BlobContext) throws {
        self.info = info
        self.rest = parts[...]
        self.context = context
        // A part that says so, or else the first one, makes the whole event-driven; the others are made to follow.
        guard let first = self.rest.popFirst() else { return }
        let reader =
            try isEventDriven
            ? first.openPollable(at: firstOffset, context: context) : first.open(at: firstOffset, context: context)
        if let readiness = reader.readiness {
            self.derived = DerivedReadiness()
            self.derived?.follow(readiness)
        }
        self.current = reader
    }

    var readiness: BlobObservable<BlobReaderState>? { self.derived?.state }

    func read(into output: inout OutputRawSpan) throws {
        guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
        if let failure { throw failure }
        do {
            while let current {
                let count = try output.append(atMost: .max) { try current.read(into: &$0) }
                guard current.hasEnded else {
                    self.derived?.refresh(afterReading: count)
                    return
                }
                try self.openNext()
            }
        } catch {
            self.failure = error
            self.derived?.fail(error)
            throw error
        }
    }

    func close() {
        self.isClosed = true
        self.derived?.stop()
        self.current?.close()
        self.current = nil
        self.rest = []
    }

    private func openNext() throws {
        self.current?.close()
        self.current = nil
        guard let part = self.rest.popFirst() else {
            self.derived?.end()
            return
        }
        let reader: BlobGuardedReader
        if let derived = self.derived {
            reader = try part.openPollable(at: 0, context: self.context)
            reader.readiness.map { derived.follow($0) }
        } else {
            reader = try part.open(at: 0, context: self.context, waits: true)
        }
        self.current = reader
    }
}

extension ConcatenatedReader.Part {
    /// What a part says of itself at its opening must be what the sum was made of.
    func open(at byteOffset: Int64, context: BlobContext, waits: Bool = false) throws(BlobError)
        -> BlobGuardedReader
    {
        let validator = self.info.validator
        return waits
            ? try self.source.reader(at: byteOffset, matching: validator, context: context)
            : try self.source.pollableReader(at: byteOffset, matching: validator, context: context)
    }

    /// Event-driven, whatever the source is.
    func openPollable(at byteOffset: Int64, context: BlobContext) throws(BlobError) -> BlobGuardedReader {
        let reader = try self.open(at: byteOffset, context: context)
        guard reader.readiness == nil else { return reader }
        // Memory makes nobody wait, so it needs no thread of the pool.
        let opened = OpenedSource(
            isImmediate: self.source is MemorySource, reader: HandedOver(reader), info: reader.info)
        return try opened.pollableReader(at: byteOffset, context: context)
    }
}

/// A blocking reader that is open already, to be opened once and where it is, as an event-driven one.
private struct OpenedSource: BlobInputStreamDataSource {
    let isImmediate: Bool
    let reader: HandedOver<BlobGuardedReader>  // To the one thread that reads it from now on, or that fills.
    let info: BlobInfo

    var capabilities: BlobCapabilities { .eventDriven }
    var layerName: String { self.isImmediate ? "ImmediateReader" : "BackgroundReader" }
    func info(_ context: BlobContext) -> BlobInfo { self.info }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        guard !self.isImmediate else { return ImmediateReader(self.reader.value) }
        let reader = self.reader
        return BackgroundReader(info: self.info, context) { _ in reader.value }
    }
}

/// Makes a reader that never waits event-driven: its bytes are always available.
private final class ImmediateReader: BlobReader {
    private let base: BlobGuardedReader
    private let state = BlobObservable(BlobReaderState(isOpenCompleted: true, hasBytesAvailable: true))

    init(_ base: BlobGuardedReader) { self.base = base }

    var info: BlobInfo { self.base.info }
    var readiness: BlobObservable<BlobReaderState>? { self.state }

    func read(into output: inout OutputRawSpan) throws {
        do {
            try self.base.read(into: &output)
        } catch {
            self.state.update { $0 = BlobReaderState(isOpenCompleted: true, error: BlobError(wrapping: error)) }
            throw error
        }
        if self.base.hasEnded { self.state.update { $0 = BlobReaderState(isOpenCompleted: true, isAtEnd: true) } }
    }

    func close() { self.base.close() }
}
