/// Several sources, one after the other, as one.
///
/// The length is known when that of every part is; it seeks when every part does. A part whose content changes after
/// the opening is ``BlobError/Code/changed``, so the parts of one pass always belong together.
public struct ConcatenatedSource: BlobInputStreamDataSource {
    private let parts: [any BlobInputStreamDataSource]
    private let isTaken = Locked(false)

    /// Creates a source of the bytes of `parts` in order; none is an empty blob.
    public init(_ parts: [any BlobInputStreamDataSource]) { self.parts = parts }

    /// True when no part ever blocks.
    public var neverBlocks: Bool { self.parts.allSatisfy(\.neverBlocks) }

    /// What all parts can do.
    public var capabilities: BlobCapabilities {
        let ofParts = self.parts.map(\.capabilities)
        let common = ofParts.reduce(BlobCapabilities.all) { $0.intersection($1) }
        return ofParts.contains { $0.contains(.oneReaderAtATime) } ? common.union(.oneReaderAtATime) : common
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
    private var failure: (any Error)?

    init(_ parts: [Part], firstOffset: Int64, info: BlobInfo, context: BlobContext) throws {
        self.info = info
        self.rest = parts[...]
        self.context = context
        try self.openNext(at: firstOffset)
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        do {
            while let current {
                var result = BlobReadResult.end
                try output.append(atMost: .max) { result = try current.read(into: &$0) }
                guard result == .end else { return result }
                current.close()
                try self.openNext(at: 0)
            }
            return .end
        } catch {
            self.failure = error
            throw error
        }
    }

    func whenReadable(_ waker: BlobWaker) { self.current?.whenReadable(waker) ?? waker.wake() }

    func close() {
        self.failure = BlobError(.closed, "The reader is closed.")
        self.current?.close()
        self.current = nil
        self.rest = []
    }

    /// Opens the next part, whose content must be what its info was: that is what the sum was made of.
    private func openNext(at byteOffset: Int64) throws {
        self.current = nil
        guard let part = self.rest.popFirst() else { return }
        self.current = try part.source.open(at: byteOffset, matching: part.info.validator, context: self.context)
    }
}
