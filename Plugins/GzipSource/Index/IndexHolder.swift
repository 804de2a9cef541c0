import BlobCore
internal import BlobIndex

/// The holder of the index of one source, which looks for it when it is first used.
final class IndexHolder: Sendable {
    private let base: any BlobInputStreamDataSource
    private let policy: BlobIndexPolicy
    private let file: IndexFile?
    private let layer: String
    private let tuning: GzipTuning
    private let found = Locked<Found?>(nil)

    /// The number of indexes that this process has written, with which a search that found none is out of date.
    private static let writtenCount = Locked(0)

    /// The result of a search for the index of some content.
    private struct Found {
        let content: IndexedContent
        let validator: BlobValidator
        let statusChangeTime: Int64?
        let index: GzipIndex?
        let writtenCount: Int

        func isOf(_ info: BlobInfo) -> Bool {
            self.validator == info.validator && self.statusChangeTime == info.statusChangeTime
        }

        /// True unless nothing was found, and another source may have written an index since.
        var isCurrent: Bool { self.index != nil || self.writtenCount == IndexHolder.writtenCount.withLock { $0 } }
    }

    /// The number of compressed bytes from which an index is worth its space: about ten milliseconds of decoding.
    private static let worthwhileByteCount: Int64 = 4 << 20

    /// The length of the longest path of layers for which an index is kept, in bytes of UTF-8.
    private static let maximumLayerByteCount = 4096

    init(
        _ base: any BlobInputStreamDataSource, _ format: GzipSource.Format, _ policy: BlobIndexPolicy,
        _ tuning: GzipTuning
    ) {
        self.tuning = tuning
        self.base = base
        self.policy = policy
        let locator = base.locator
        self.layer = locator?.layer(format.rawValue) ?? format.rawValue
        self.file = self.layer.utf8.count > Self.maximumLayerByteCount ? nil : IndexFile(policy, for: locator)
    }

    /// True when an index file is looked for.
    var looksForFile: Bool { self.file != nil }

    /// True when an index is possible: there is a place for its file, and the base can be opened again.
    var isIndexable: Bool {
        self.file != nil && self.base.traits.contains(.repeatable)
    }

    /// The index that was found; nil when none was found, or none was looked for yet.
    var known: GzipIndex? { usable(self.found.withLock { $0?.index }) }

    /// Returns the index of the content that `info` describes; nil when there is none.
    ///
    /// - Parameter info: The current info of the base.
    /// - Throws: Errors of the base, and of reading the index file.
    func index(of info: BlobInfo, _ context: BlobContext) throws(BlobError) -> GzipIndex? {
        guard let found = try self.look(context), found.isOf(info) else { return nil }
        return usable(found.index)
    }

    /// Returns a recording for a read from the start; nil when no index is to be made.
    ///
    /// - Parameter isRequired: True when the index was requested; otherwise it is made only if it is missing and
    ///   worthwhile.
    func recording(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> IndexRecording? {
        guard let file, let found = try self.look(context), usable(found.index) == nil || isRequired else {
            return nil
        }
        let content = found.content
        let isNamed = if case .file = self.policy.place { true } else { false }
        guard isRequired || isNamed || content.byteCount >= Self.worthwhileByteCount else { return nil }
        // A file that the user named is made when it is missing, and otherwise left as it is, whatever it contains.
        guard isRequired || !isNamed || !file.exists else { return nil }
        return IndexRecording(
            file, layer: self.layer, content: content, isRequired: isRequired || isNamed, isReplacing: isRequired,
            tuning: self.tuning, context,
            proof: { [base, layer] () throws(BlobError) in
                try file.proof(of: content, base, layer: layer, context)
            }, written: { [weak self] in self?.forget() })
    }

    /// Discards the result of the search, because there is a new index.
    private func forget() {
        Self.writtenCount.withLock { $0 += 1 }
        self.found.withLock { $0 = nil }
    }

    private func look(_ context: BlobContext) throws(BlobError) -> Found? {
        guard let file, self.isIndexable else { return nil }
        let info = try self.base.info(context)
        if let found = self.found.withLock({ $0 }), found.isOf(info), found.isCurrent { return found }
        let writtenCount = Self.writtenCount.withLock { $0 }
        guard let validator = info.validator, let content = try file.content(of: self.base, context) else {
            return nil
        }
        let found = Found(
            content: content, validator: validator, statusChangeTime: info.statusChangeTime,
            index: try GzipIndex(file, layer: self.layer, content: content, tuning: self.tuning),
            writtenCount: writtenCount)
        self.found.withLock { $0 = found }
        return found
    }
}

private func usable(_ index: GzipIndex?) -> GzipIndex? { index?.isDisproved == true ? nil : index }
