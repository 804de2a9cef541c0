import BlobCore

/// A look at the bytes of something made from an asset, such as a rendered picture, that ends when the asset is edited.
///
/// Before each read, and at the end, the catalogue is consulted if there were commits. With an event sink, an edit is
/// also reported while nobody reads.
final class FollowedAsset: BlobInspector {
    private let asset: Asset
    private let resolver: AssetResolver
    private let removal: AssetSource.RemovalPolicy
    private let report: @Sendable () -> Void
    /// Kept for as long as changes are observed: until the inspector is released.
    private var registrations: [any AnyObject & Sendable] = []
    /// The commit after which the asset was last looked up; nil when that is unknown.
    private var commit: CatalogueCommit?

    /// - Parameters:
    ///   - asset: The asset from which the bytes are made, as the catalogue described it then.
    ///   - byteOffset: The offset at which the bytes begin, for events.
    init(
        _ asset: Asset, _ resolver: AssetResolver, at byteOffset: Int64, removal: AssetSource.RemovalPolicy,
        _ context: BlobContext
    ) {
        (self.asset, self.resolver, self.removal) = (asset, resolver, removal)
        let isReported = Locked(false)
        self.report = { [sink = context.eventSink] in
            if !isReported.exchange(true) { sink?(BlobEvent(.invalidated, byteOffset)) }
        }
        guard context.eventSink != nil else { return }
        self.registrations = resolver.store.observeCommits { [report] in
            let found = Result { () throws(BlobError) in try Self.check(asset, resolver, removal) }
            if case .failure(let error) = found, error.code == .changed { report() }
        }
    }

    func room() throws -> BlobRoom {
        try self.checkAfterCommit()
        return .bytes(.max)
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }

    private func checkAfterCommit() throws(BlobError) {
        do {
            let commit = try self.resolver.store.lastCommit()
            guard !commit.isSame(as: self.commit) else { return }
            try Self.check(self.asset, self.resolver, self.removal)
            self.commit = commit
        } catch  where error.code != .changed && self.removal == .finish {
            // A catalogue that cannot be read does not change the bytes for which the reader was opened.
        } catch {
            self.report()
            throw error
        }
    }

    /// Throws when the asset was edited, or removed although that matters.
    private static func check(
        _ asset: Asset, _ resolver: AssetResolver, _ removal: AssetSource.RemovalPolicy
    ) throws(BlobError) {
        if let now = try resolver.store.asset(named: resolver.id, BlobContext()) {
            try now.check(sameContentAs: asset, .current)
        } else if removal == .fail {
            throw BlobError(.changed, "The asset was removed from the library while it was read.")
        }
    }
}
