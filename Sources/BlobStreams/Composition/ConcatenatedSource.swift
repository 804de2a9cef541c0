/// Several sources, one after the other, as one.
///
/// The length is known when that of every part is; it seeks when every part does. A part whose content changes after
/// the opening is ``BlobError/Code/changed``, so the parts of one pass always belong together.
public struct ConcatenatedSource: BlobInputStreamDataSource {
    private let parts: [any BlobInputStreamDataSource]
    private let isTaken = Locked(false)

    /// Creates a source of the bytes of `parts` in order; none is an empty blob.
    public init(_ parts: [any BlobInputStreamDataSource]) { self.parts = parts }

    /// What all parts can do.
    public var capabilities: BlobCapabilities {
        self.parts.reduce(.all) { $0.intersection($1.capabilities) }
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
        guard self.capabilities.contains(.repeatable) || self.isTaken.takeOnce() else {
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
            parts, firstOffset: isWithinFirst ? offset : 0, info: info, context: context)
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

    init(_ parts: [Part], firstOffset: Int64, info: BlobInfo, context: BlobContext) throws {
        self.info = info
        self.rest = parts[...]
        self.context = context
        // The first part decides whether the whole is event-driven; the others are made to follow.
        guard let first = self.rest.popFirst() else { return }
        let reader = try first.open(at: firstOffset, context: context)
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
            reader = try part.openPollable(context: self.context)
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
    func openPollable(context: BlobContext) throws(BlobError) -> BlobGuardedReader {
        let reader = try self.open(at: 0, context: context)
        guard reader.readiness == nil else { return reader }
        let info = reader.info
        let handedOver = HandedOver(reader)  // To the one thread that fills for the background reader.
        let source = OneShotSource(layerName: "BackgroundReader", info: info) { context in
            BackgroundReader(info: info, context) { _ in handedOver.value }
        }
        return try source.pollableReader(context: context)
    }
}
