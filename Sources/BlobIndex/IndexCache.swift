package import BlobCore

/// An index that an ``IndexCache`` can hold.
package protocol CacheableIndex: Sendable {
    /// True if the index turned out to be made from bytes other than the content.
    var isInvalidated: Bool { get }
}

/// The cache of the index of one source, which searches for the index at first use.
package final class IndexCache<Index: CacheableIndex>: Sendable {
    /// Loads the index of some content from a file; returns nil if it is missing or damaged.
    package typealias Load =
        @Sendable (_ file: IndexFile, _ layer: String, _ content: IndexedContent) throws(BlobError) -> Index?

    private let base: any BlobInputStreamDataSource
    private let file: IndexFile?
    private let layer: String
    private let worthwhileByteCount: Int64
    private let load: Load
    private let foundIndex = Locked<FoundIndex?>(nil)

    /// The result of a search for the index of some content.
    private struct FoundIndex {
        let content: IndexedContent
        let identity: ContentIdentity
        let index: Index?
        let writtenCount: Int

        /// False if no index was found, but another source may have written one since.
        var isCurrent: Bool { self.index != nil || self.writtenCount == indexesWritten.withLock { $0 } }

        var usableIndex: Index? { self.index?.isInvalidated == true ? nil : self.index }
    }

    /// Creates the cache of the index of a source.
    ///
    /// - Parameters:
    ///   - base: The source of the compressed bytes.
    ///   - scheme: The scheme of the format, which names the layer of the sections.
    ///   - worthwhileByteCount: The minimum number of compressed bytes for which an index is worth its space.
    package init(
        _ base: any BlobInputStreamDataSource, scheme: String, _ policy: BlobIndexPolicy, worthwhileByteCount: Int64,
        load: @escaping Load
    ) {
        self.base = base
        self.worthwhileByteCount = worthwhileByteCount
        self.load = load
        let locator = base.locator
        self.layer = locator?.layer(scheme) ?? scheme
        self.file = IndexFile(policy, for: locator, layer: self.layer)
    }

    /// True if this object searches for an index file.
    package var looksForFile: Bool { self.file != nil }

    /// True if an index is possible: its file has a location, and the base can be opened again.
    package var isIndexable: Bool {
        self.file != nil && self.base.traits.contains(.repeatable)
    }

    /// Returns the index of the content that `info` describes; nil if no valid index exists.
    ///
    /// - Parameter info: The current info of the base.
    /// - Throws: Errors of the base, and of reading the index file.
    package func index(of info: BlobInfo, _ context: BlobContext) throws(BlobError) -> Index? {
        guard let found = try self.lookUp(context), found.identity == ContentIdentity(info) else { return nil }
        if found.index?.isInvalidated == true { self.reportRefusal() }
        if found.usableIndex != nil { context.activity?.report(BlobEvent(.indexUsed, info.byteCount ?? 0)) }
        return found.usableIndex
    }

    /// Reports that the index is no longer used, because it describes bytes other than the content.
    package func reportRefusal() { self.file?.reportRefusal("it describes different content") }

    /// Returns the index that another tool wrote to the path of the index file; see ``IndexFile/toolIndex()``.
    package func toolIndex() throws(BlobError) -> ToolIndex? { try self.file?.toolIndex() }

    /// Returns the destination of an index to record during a read from the start; nil if no index should be recorded.
    ///
    /// - Parameter isRequired: True if the index was requested; otherwise it is recorded only if it is missing and
    ///   worthwhile.
    package func indexDestination(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> IndexDestination? {
        guard let file, let found = try self.lookUp(context), found.usableIndex == nil || isRequired else { return nil }
        let place = IndexDestination(
            in: file, layer: self.layer, for: found.content, of: self.base, isRequired: isRequired, context
        ) { [weak self] in self?.forget() }
        guard let place, place.isRequired || found.content.byteCount >= self.worthwhileByteCount else { return nil }
        return place
    }

    /// Discards the result of the search, because a new index was written.
    private func forget() {
        indexesWritten.withLock { $0 += 1 }
        self.foundIndex.withLock { $0 = nil }
    }

    private func lookUp(_ context: BlobContext) throws(BlobError) -> FoundIndex? {
        guard let file, self.isIndexable else { return nil }
        guard let identity = ContentIdentity(try self.base.info(context)) else { return nil }
        if let found = self.foundIndex.withLock({ $0 }), found.identity == identity, found.isCurrent { return found }
        let writtenCount = indexesWritten.withLock { $0 }
        guard let content = try file.content(of: self.base, context) else { return nil }
        let found = FoundIndex(
            content: content, identity: identity, index: try self.load(file, self.layer, content),
            writtenCount: writtenCount)
        self.foundIndex.withLock { $0 = found }
        return found
    }
}

/// The number of indexes that this process has written; a search that found none is repeated when it changes.
private let indexesWritten = Locked(0)

/// The destination of an index that is recorded while a stream is read from its start, or while an archive is listed.
package struct IndexDestination: Sendable {
    private let file: IndexFile
    /// The layer of the sections of the index.
    package let layer: String
    /// The content from which the index is made.
    package let content: IndexedContent
    /// True if the index was requested, or its file was named: it is built regardless of the size of the content, and
    /// errors are thrown instead of ignored.
    package let isRequired: Bool
    private let isReplacing: Bool
    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let onWrite: @Sendable () -> Void

    /// Determines the destination of an index to record.
    ///
    /// - Parameters:
    ///   - isRequired: True if the index was requested.
    ///   - onWrite: A closure that is called after the index has been written.
    /// - Returns: Nil if no index should be recorded. A file that the user named is created if it is missing; an
    ///   existing file is left unchanged, regardless of its content, unless the index was requested.
    package init?(
        in file: IndexFile, layer: String, for content: IndexedContent, of base: any BlobInputStreamDataSource,
        isRequired: Bool, _ context: BlobContext, onWrite: @escaping @Sendable () -> Void = {}
    ) {
        let isNamed = file.folder == nil
        guard isRequired || !isNamed || !file.exists else { return nil }
        (self.file, self.layer, self.content) = (file, layer, content)
        (self.isRequired, self.isReplacing) = (isRequired || isNamed, isRequired)
        (self.base, self.context, self.onWrite) = (base, context, onWrite)
    }

    /// Writes the index, and the section by which copies of the content are recognised.
    ///
    /// - Parameter makeSections: A closure that returns the sections, and their length in bytes.
    /// - Throws: Errors of creating and writing the index, if it is required.
    package func write(
        _ makeSections: () throws(BlobError) -> (sections: [NewIndexSection], byteCount: Int64)
    ) throws(BlobError) {
        do throws(BlobError) {
            let (sections, byteCount) = try makeSections()
            let proof = try self.file.proof(of: self.content, self.base, layer: self.layer, self.context)
            try self.file.write(sections + proof, for: self.content, isReplacing: self.isReplacing)
            self.onWrite()
            self.context.report(BlobEvent(.indexBuilt, byteCount))
        } catch {
            if self.isRequired { throw error }
        }
    }
}

extension BlobLocator {
    /// Returns the path of layers of a wrapper around this locator, as in ``IndexSection/Key/layer``: `tar+gzip`.
    package func layer(_ wrapper: String) -> String {
        let wrappers = [wrapper] + self.scheme.split(separator: "+").dropLast().map(String.init)
        let path = wrappers.joined(separator: "+")
        guard !self.selectors.isEmpty else { return path }
        return "\(path)#\(self.selectors.map(\.text).joined(separator: "!/"))"
    }
}
