/// A source that concatenates several sources.
///
/// Its length is known when the length of every part is; it has random access when every part does. If the content of a
/// part changes after the opening, reading throws ``BlobError/Code/changed``, so the parts of one pass always belong
/// together. Opening queries the info of every part, which may block even when reading no part does.
///
/// ```swift
/// let whole = ConcatenatedSource([MemorySource(Data("Header\n".utf8)), source, other])
/// ```
public struct ConcatenatedSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source of the bytes of `parts` in order; no parts make an empty blob.
    public init(_ parts: [any BlobInputStreamDataSource]) { self.base = Parts(parts: parts) }
}

private struct Parts: NamedLayer {
    let layer = "ConcatenatedSource"
    let parts: [any BlobInputStreamDataSource]
    private let isTaken = Locked(false)

    var traits: BlobTraits {
        self.parts.reduce([.repeatable, .concurrentReaders]) { $0.intersection($1.traits) }
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        Self.joined(try self.partInfos(context))
    }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let infos = try self.partInfos(context)
        let info = Self.joined(infos)
        try info.check(byteOffset: byteOffset, matching: validator)
        // Refused now, not when a part is reached that can be read only once.
        guard self.traits.contains(.repeatable) || !self.isTaken.exchange(true) else {
            throw BlobError(.unsupported, "A part of this source can be read only once, and was opened already.")
        }
        var parts = zip(self.parts, infos).map(ConcatenatedReader.Part.init)[...]
        var offset = byteOffset
        while let byteCount = parts.first?.info.byteCount, offset >= byteCount {
            offset -= byteCount
            parts.removeFirst()
        }
        // A part of unknown length may end before the offset, which only reading through it can show.
        let isWithinFirst = parts.first?.info.byteCount != nil || offset == 0
        let reader = try ConcatenatedReader(
            parts, firstOffset: isWithinFirst ? offset : 0, info: info, context: context)
        return isWithinFirst ? reader : reader.skipping(offset)
    }

    private func partInfos(_ context: BlobContext) throws(BlobError) -> [BlobInfo] {
        var infos: [BlobInfo] = []
        for part in self.parts { infos.append(try part.info(context)) }
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
            byteCount: total, validator: validators.count == infos.count ? .combined("parts", validators) : nil,
            isRandomAccess: infos.allSatisfy(\.isRandomAccess))
    }
}

private final class ConcatenatedReader: BlobPluginReader {
    struct Part {
        let source: any BlobInputStreamDataSource
        let info: BlobInfo
    }

    let info: BlobInfo
    // Unlike making a reader, which queries the parts.
    let neverBlocks: Bool
    private var rest: ArraySlice<Part>
    private let context: BlobContext
    /// The reader of the current part; nil at the end. An error is final: of an opening, or because the reader is
    /// closed.
    private var current: Result<BlobReader?, any Error>

    init(_ parts: ArraySlice<Part>, firstOffset: Int64, info: BlobInfo, context: BlobContext) throws {
        self.info = info
        self.rest = parts
        self.neverBlocks = parts.allSatisfy { $0.source.traits.contains(.neverBlocks) }
        self.context = context
        self.current = .success(nil)
        self.openNext(at: firstOffset)
        _ = try self.current.get()
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        while let current = try self.current.get() {
            let result = try current.read(into: &output)
            guard result == .end else { return result }
            current.close()
            self.openNext(at: 0)
        }
        return .end
    }

    func whenReadable(_ waker: BlobWaker) { (try? self.current.get())?.whenReadable(waker) ?? waker.wake() }

    func close() {
        (try? self.current.get())?.close()
        self.current = .failure(BlobError(.closed, "The reader is closed."))
        self.rest = []
    }

    /// Opens the next part, whose content must match the info from which the length of the whole was computed.
    private func openNext(at byteOffset: Int64) {
        let part = self.rest.popFirst()
        self.current = Result {
            try part.map { try $0.source.open(at: byteOffset, matching: $0.info.validator, context: self.context) }
        }
    }
}
