package import BlobCore

/// An index that a holder keeps.
package protocol HeldIndex: Sendable {
    /// True when the index turned out to be made from other bytes than its content has.
    var isDisproved: Bool { get }
}

/// The holder of the index of one source, which looks for it when it is first used.
package final class IndexHolder<Index: HeldIndex>: Sendable {
    /// Loads the index of some content from a file; returns nil when there is none, or it is damaged.
    package typealias Load =
        @Sendable (_ file: IndexFile, _ layer: String, _ content: IndexedContent) throws(BlobError) -> Index?

    private let base: any BlobInputStreamDataSource
    private let policy: BlobIndexPolicy
    private let file: IndexFile?
    private let layer: String
    private let worthwhileByteCount: Int64
    private let load: Load
    private let found = Locked<Found?>(nil)

    /// The result of a search for the index of some content.
    private struct Found {
        let content: IndexedContent
        let validator: BlobValidator
        let statusChangeTime: Int64?
        let index: Index?
        let writtenCount: Int

        func isOf(_ info: BlobInfo) -> Bool {
            self.validator == info.validator && self.statusChangeTime == info.statusChangeTime
        }

        /// True unless nothing was found, and another source may have written an index since.
        var isCurrent: Bool { self.index != nil || self.writtenCount == indexesWritten.withLock { $0 } }

        var usableIndex: Index? { self.index?.isDisproved == true ? nil : self.index }
    }

    /// The length of the longest path of layers for which an index is kept, in bytes of UTF-8.
    private static var maximumLayerByteCount: Int { 4096 }

    /// - Parameters:
    ///   - base: The source of the compressed bytes.
    ///   - scheme: The scheme of the format, which names the layer of the sections.
    ///   - worthwhileByteCount: The number of compressed bytes from which an index is worth its space.
    package init(
        _ base: any BlobInputStreamDataSource, scheme: String, _ policy: BlobIndexPolicy, worthwhileByteCount: Int64,
        load: @escaping Load
    ) {
        self.base = base
        self.policy = policy
        self.worthwhileByteCount = worthwhileByteCount
        self.load = load
        let locator = base.locator
        self.layer = locator?.layer(scheme) ?? scheme
        self.file = self.layer.utf8.count > Self.maximumLayerByteCount ? nil : IndexFile(policy, for: locator)
    }

    /// True when an index file is looked for.
    package var looksForFile: Bool { self.file != nil }

    /// True when an index is possible: there is a place for its file, and the base can be opened again.
    package var isIndexable: Bool {
        self.file != nil && self.base.traits.contains(.repeatable)
    }

    /// Returns the index of the content that `info` describes; nil when there is none.
    ///
    /// - Parameter info: The current info of the base.
    /// - Throws: Errors of the base, and of reading the index file.
    package func index(of info: BlobInfo, _ context: BlobContext) throws(BlobError) -> Index? {
        guard let found = try self.look(context), found.isOf(info) else { return nil }
        if found.index?.isDisproved == true { self.noteRefusal() }
        return found.usableIndex
    }

    /// Reports that the index describes other bytes than the content has, and is not used any more.
    package func noteRefusal() { self.file?.noteRefusal("it describes other bytes") }

    /// Returns the index of another tool in the place of the index file; nil when there is none.
    ///
    /// - Throws: See ``IndexFile/foreignIndex()``.
    package func foreignIndex() throws(BlobError) -> ForeignIndex? { try self.file?.foreignIndex() }

    /// Returns the place of an index to record during a read from the start; nil when no index is to be made.
    ///
    /// - Parameter isRequired: True when the index was requested; otherwise it is made only if it is missing and
    ///   worthwhile.
    package func newIndexPlace(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> NewIndexPlace? {
        guard let file, let found = try self.look(context), found.usableIndex == nil || isRequired else { return nil }
        let content = found.content
        let isNamed = if case .file = self.policy.place { true } else { false }
        guard isRequired || isNamed || content.byteCount >= self.worthwhileByteCount else { return nil }
        // A file that the user named is made when it is missing, and otherwise left as it is, whatever it contains.
        guard isRequired || !isNamed || !file.exists else { return nil }
        return NewIndexPlace(
            file: file, layer: self.layer, content: content, isRequired: isRequired || isNamed,
            isReplacing: isRequired, base: self.base, context: context, written: { [weak self] in self?.forget() })
    }

    /// Discards the result of the search, because there is a new index.
    private func forget() {
        indexesWritten.withLock { $0 += 1 }
        self.found.withLock { $0 = nil }
    }

    private func look(_ context: BlobContext) throws(BlobError) -> Found? {
        guard let file, self.isIndexable else { return nil }
        let info = try self.base.info(context)
        if let found = self.found.withLock({ $0 }), found.isOf(info), found.isCurrent { return found }
        let writtenCount = indexesWritten.withLock { $0 }
        guard let validator = info.validator, let content = try file.content(of: self.base, context) else {
            return nil
        }
        let found = Found(
            content: content, validator: validator, statusChangeTime: info.statusChangeTime,
            index: try self.load(file, self.layer, content), writtenCount: writtenCount)
        self.found.withLock { $0 = found }
        return found
    }
}

/// The number of indexes that this process has written, with which a search that found none is out of date.
private let indexesWritten = Locked(0)
