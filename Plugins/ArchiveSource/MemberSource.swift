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
        guard self.base.capabilities.contains(.repeatable) else { return BlobInfo() }
        let found = try self.search(context).open()
        return self.info(found)
    }

    func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let search = self.search(context)
        let found = try search.open()
        let info = self.info(found)
        try info.check(byteOffset: byteOffset, matching: validator)
        let reader = MemberReader(found, info: info, search)
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }

    private func search(_ context: BlobContext) -> MemberSearch {
        MemberSearch(base: self.base, format: self.format, selector: self.selector, context: context)
    }

    private func info(_ found: MemberSearch.Found) -> BlobInfo {
        let validator = found.walker.baseInfo.validator
        let name = String(
            decoding: found.member.name.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        return BlobInfo(
            byteCount: found.entry.member.byteCount, name: name.isEmpty ? nil : name,
            validator: validator.map { .combined("\(self.format.rawValue)#\(self.selector.text)", [$0]) })
    }
}
