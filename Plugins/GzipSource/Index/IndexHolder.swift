import BlobIndex
import BlobStreams

/// Finds the index of one source, and keeps it.
final class IndexHolder: Sendable {
    private let base: any BlobInputStreamDataSource
    private let policy: BlobIndexPolicy
    private let file: IndexFile?
    private let layer: String
    private let tuning: GzipTuning
    private let found = Locked<Found?>(nil)

    /// A look for the index of some content.
    private struct Found {
        let content: IndexedContent
        let validator: BlobValidator
        let index: GzipIndex?

        func isOf(_ info: BlobInfo) -> Bool {
            self.validator == info.validator && self.content.statusChangeTime == info.statusChangeTime
        }
    }

    /// Compressed bytes that are decoded in some ten milliseconds: below, an index is not worth its place.
    private static let worthwhileByteCount: Int64 = 4 << 20

    /// A path of layers that is longer is not kept.
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

    /// Whether an index is looked for, which is done in files.
    var looksForFile: Bool { self.file != nil }

    /// Whether there can be an index at all.
    var isOfUse: Bool {
        self.file != nil && self.base.capabilities.isSuperset(of: [.randomAccess, .repeatable])
    }

    /// The index that was found, if one was looked for.
    var known: GzipIndex? { usable(self.found.withLock { $0?.index }) }

    /// The index of the content that `info` is of; nil when there is none.
    ///
    /// - Parameter info: That of the base, as it is now.
    /// - Throws: What looking at the base brings.
    func index(of info: BlobInfo, _ context: BlobContext) throws(BlobError) -> GzipIndex? {
        guard let found = try self.look(context), found.isOf(info) else { return nil }
        return usable(found.index)
    }

    /// What makes an index on the way, if it is to be made and there is none.
    ///
    /// - Parameter isRequired: Whether it was asked for; otherwise it must be worth it.
    func recording(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> IndexRecording? {
        guard let file, let found = try self.look(context), usable(found.index) == nil || isRequired else {
            return nil
        }
        let content = found.content
        let isNamed = if case .file = self.policy { true } else { false }
        guard isRequired || isNamed || content.byteCount >= Self.worthwhileByteCount else { return nil }
        // What the user named is made when it is missing, and otherwise left as it is, whatever it is.
        guard isRequired || !isNamed || !file.exists else { return nil }
        return IndexRecording(
            file, layer: self.layer, content: content, isRequired: isRequired || isNamed, isReplacing: isRequired,
            tuning: self.tuning, context, written: { [weak self] in self?.forget() })
    }

    /// Forgets what was found, as there is something new.
    private func forget() { self.found.withLock { $0 = nil } }

    private func look(_ context: BlobContext) throws(BlobError) -> Found? {
        guard let file, self.isOfUse else { return nil }
        let info = try self.base.checkedInfo(context)
        if let found = self.found.withLock({ $0 }), found.isOf(info) { return found }
        guard let validator = info.validator, let content = try IndexedContent.of(self.base, context) else {
            return nil
        }
        let found = Found(
            content: content, validator: validator,
            index: try GzipIndex(file, layer: self.layer, content: content))
        self.found.withLock { $0 = found }
        return found
    }
}

private func usable(_ index: GzipIndex?) -> GzipIndex? { index?.isDisproved == true ? nil : index }
