import BlobStreams

/// One member of an archive.
struct MemberSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let selector: BlobLocator.Selector

    init(_ base: any BlobInputStreamDataSource, _ format: ArchiveFormat, _ selector: BlobLocator.Selector) {
        self.base = base
        self.format = format
        self.selector = selector
    }

    /// Any offset is reached by reading from the member's beginning.
    var capabilities: BlobCapabilities { self.base.capabilities.intersection([.repeatable, .concurrentReaders]) }

    var locator: BlobLocator? {
        (try? self.base.locator?.wrapped(in: self.format.rawValue))?.selecting(self.selector)
    }

    func info(_ context: BlobContext) throws -> BlobInfo {
        // Looking at what can be read only once would be the one reading.
        guard self.base.capabilities.contains(.repeatable) || self.format.needsRandomAccess else { return BlobInfo() }
        return try self.find(context).info
    }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let (info, makeReader) = try self.find(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        let reader = try makeReader()
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }

    /// The member, and how to read it from its beginning.
    private func find(
        _ context: BlobContext
    ) throws(BlobError) -> (info: BlobInfo, makeReader: () throws(BlobError) -> any BlobReader) {
        if self.format == .zip {
            let found = try ZipSearch(base: self.base, selector: self.selector, context: context).open()
            let info = self.info(
                name: found.entry.name, byteCount: found.entry.byteCount, found.scanner.info.validator)
            return (info, { () throws(BlobError) in try found.makeReader(info, over: self.base, context) })
        }
        let search = MemberSearch(base: self.base, format: self.format, selector: self.selector, context: context)
        let found = try search.open()
        let info = self.info(
            name: found.member.name, byteCount: found.entry.member.byteCount, found.walker.baseInfo.validator)
        return (info, { () throws(BlobError) in MemberReader(found, info: info, search) })
    }

    private func info(name: [UInt8], byteCount: Int64?, _ validator: BlobValidator?) -> BlobInfo {
        let name = String(decoding: name.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        return BlobInfo(
            byteCount: byteCount, name: name.isEmpty ? nil : name,
            validator: validator.map { .combined("\(self.format.rawValue)#\(self.selector.text)", [$0]) })
    }
}

extension ZipSearch.Found {
    /// Reads the member: here if it is stored or deflated, else by libarchive, which gets to see nothing else.
    func makeReader(
        _ info: BlobInfo, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any BlobReader {
        if let method = ZipReader.Method(rawValue: self.entry.method) {
            return try ZipReader(self, method, info: info)
        }
        // What may follow the bytes is their descriptor, of at most 24 bytes.
        let slice = SliceSource(base, range: self.entry.localOffset..<min(self.next, self.data.upperBound + 24))
        let search = MemberSearch(base: slice, format: .zip, selector: .index(0), context: context)
        let found = try search.open(checksum: self.entry.checksum)
        return MemberReader(found, info: info, search)
    }
}
