/// The stream of a joined body, until the infos of all parts are known.
final class JoinedStream: LateStream {
    private var parts: [(source: any BlobInputStreamDataSource, info: BlobInfo?)]
    private let declaredInfo: BlobInfo?
    private let opening: BlobOpening
    private let onClose: () -> Void
    /// The number of parts whose info is known, from the front.
    private var knownCount = 0
    /// The reader of the first part whose info is not known yet.
    private var infoReader: BlobReader?
    /// The readers of the parts that can be read only once, by position.
    private var openedReaders: [Int: BlobReader] = [:]

    /// Creates the stream of a joined body.
    ///
    /// - Parameter onClose: A closure that is called when the stream is closed before the first part with bytes was
    ///   opened.
    init(
        _ parts: [(source: any BlobInputStreamDataSource, info: BlobInfo?)], _ whole: BlobInfo?, _ opening: BlobOpening,
        onClose: @escaping () -> Void = {}
    ) {
        (self.parts, self.declaredInfo, self.opening, self.onClose) = (parts, whole, opening, onClose)
        self.neverBlocks = parts.allSatisfy { $0.source.traits.contains(.neverBlocks) }
    }

    let neverBlocks: Bool
    var info: BlobInfo? { nil }
    var readiness: BlobWakerSlot? { self.infoReader?.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult { .notYet }

    func successor(isOpening: Bool) throws -> StartedStream? {
        while self.knownCount < self.parts.count {
            if self.parts[self.knownCount].info == nil {
                guard let info = try self.info(ofPart: self.knownCount) else { return nil }
                self.parts[self.knownCount].info = info
            }
            self.knownCount += 1
        }
        let infos = self.parts.map { $0.info ?? BlobInfo() }
        let info = self.declaredInfo ?? .joinedInfo(infos)
        try info.check(byteOffset: self.opening.byteOffset, matching: self.opening.validator)
        var rest = self.parts.indices.map { index in
            PartsStream.Part(
                source: self.parts[index].source, info: infos[index], openedReader: self.openedReaders[index])
        }[...]
        var offset = self.opening.byteOffset
        while let byteCount = rest.first?.info.byteCount, offset >= byteCount {
            offset -= byteCount
            rest.popFirst()?.openedReader?.close()
        }
        // A part of unknown length may end before the offset, which only reading it to the end can show.
        let skipped = rest.first?.info.byteCount == nil ? offset : 0
        let stream = PartsStream(
            rest, at: offset - skipped, info, neverBlocks: self.neverBlocks, self.opening.context)
        self.openedReaders = [:]
        try stream.openNext()
        return StartedStream(stream: stream, byteOffset: self.opening.byteOffset - skipped)
    }

    func close() {
        self.infoReader?.close()
        for reader in self.openedReaders.values { reader.close() }
        self.onClose()
    }

    /// Returns the info of a part; nil if it is not known yet.
    private func info(ofPart index: Int) throws -> BlobInfo? {
        let source = self.parts[index].source
        guard self.neverBlocks else { return try source.info(self.opening.context) }
        let reader = try self.infoReader ?? source.open(context: self.opening.context)
        self.infoReader = reader
        guard let info = try reader.knownInfo() else { return nil }
        self.infoReader = nil
        if source.traits.contains(.repeatable) { reader.close() } else { self.openedReaders[index] = reader }
        return info
    }
}

/// The bytes of a sequence of sources.
private final class PartsStream: StreamOverReader {
    struct Part {
        let source: any BlobInputStreamDataSource
        let info: BlobInfo
        /// The reader from the first byte, if it is already open.
        let openedReader: BlobReader?
    }

    let knownInfo: BlobInfo
    let neverBlocks: Bool
    private var rest: ArraySlice<Part>
    private var offset: Int64
    private let context: BlobContext
    private var currentReader: BlobReader?

    init(
        _ parts: ArraySlice<Part>, at offset: Int64, _ info: BlobInfo, neverBlocks: Bool, _ context: BlobContext
    ) {
        (self.rest, self.offset, self.knownInfo, self.neverBlocks) = (parts, offset, info, neverBlocks)
        self.context = context
    }

    var info: BlobInfo? { self.knownInfo }
    var reader: BlobReader? { self.currentReader }
    var readiness: BlobWakerSlot? { self.currentReader?.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        while let current = self.currentReader {
            let result = try current.read(into: &output)
            guard result == .end else { return result }
            try self.openNext()
        }
        return .end
    }

    func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
        try self.currentReader?.readBytes(atMost: byteCount)
    }

    func close() {
        self.currentReader?.close()
        for part in self.rest { part.openedReader?.close() }
    }

    /// Opens the next part, whose content must match the info from which the length of the whole was computed.
    func openNext() throws {
        self.currentReader?.close()
        self.currentReader = nil
        guard let part = self.rest.popFirst() else { return }
        let reader =
            try part.openedReader
            ?? part.source.open(at: self.offset, matching: part.info.validator, context: self.context)
        if part.openedReader != nil { reader.skip(self.offset) }
        reader.deferChecks(to: self.context)
        (self.currentReader, self.offset) = (reader, 0)
    }
}

extension BlobInfo {
    /// Returns the info of a sequence of parts.
    static func joinedInfo(_ infos: [BlobInfo]) -> BlobInfo {
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
