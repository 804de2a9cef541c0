package import BlobCore

extension IndexFile {
    /// Returns the identity of the current content of `base`, under which this file has its sections.
    ///
    /// A file that the user named is valid wherever its content is: for a copy, or after `touch`, this is the identity
    /// of the content from which the sections were made, once the length, both ends and 32 parts between them proved to
    /// be the same. Sections that are verified as they are used depend on nothing else.
    ///
    /// - Returns: Nil where ``IndexedContent/of(_:_:)`` is.
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: As of ``IndexedContent/of(_:_:)``; for a copy, opens `base` 32 times more.
    package func content(
        of base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> IndexedContent? {
        guard let content = try IndexedContent.of(base, context) else { return nil }
        guard self.folder == nil, case .index(let file, let table) = self.state(),
            !table.entries.contains(where: { $0.content == content })
        else { return content }
        var current: ContentParts?
        for entry in table.entries where entry.key.kind == .parts && entry.content.isLike(content) {
            let known: ContentParts
            do throws(BlobError) {
                known = try ContentParts(decoding: try IndexSection(file, entry).bytes())
            } catch {
                guard error.code == .corrupted || error.code == .limitExceeded else { throw error }
                continue
            }
            let parts: ContentParts
            if let current { parts = current } else { parts = try ContentParts(of: base, content, context) }
            current = parts
            if parts == known { return entry.content }
        }
        return content
    }

    /// Returns the section that proves the content of a copy; none unless the user named the file, or when it has one
    /// already.
    ///
    /// - Parameters:
    ///   - base: The source whose content is `content`.
    ///   - layer: The layer of the sections that are written with it.
    /// - Throws: Errors of opening and reading `base`.
    package func proof(
        of content: IndexedContent, _ base: any BlobInputStreamDataSource, layer: String, _ context: BlobContext
    ) throws(BlobError) -> [NewIndexSection] {
        guard self.folder == nil else { return [] }
        if case .index(_, let table) = self.state(),
            table.entries.contains(where: { $0.key.kind == .parts && $0.content == content })
        {
            return []
        }
        let parts = try ContentParts(of: base, content, context)
        return [NewIndexSection(IndexSection.Key(layer: layer, kind: .parts), bytes: parts.encoded)]
    }
}

extension IndexedContent {
    /// Returns true when the length and both ends are the same.
    fileprivate func isLike(_ other: IndexedContent) -> Bool {
        self.byteCount == other.byteCount && self.edgeChecksum == other.edgeChecksum
    }
}

extension ContentParts {
    fileprivate init(
        of base: any BlobInputStreamDataSource, _ content: IndexedContent, _ context: BlobContext
    ) throws(BlobError) {
        try self.init(of: base, byteCount: content.byteCount, try base.info(context).validator, context)
    }
}
