#if Photos
import BlobCore
import CryptoDigest
import Foundation

/// A stream of the bytes of an original, which verifies the digest of each block and detects changes of the file.
///
/// The status of the file is checked after each block. If the file was touched after it was opened, the bytes are
/// discarded and the file is looked up again. After commits to the catalogue, the catalogue is queried before the next
/// block.
final class AssetStream: BlobByteStream {
    private let asset: Asset
    private let resolver: AssetResolver
    private let version: AssetSource.Version
    private let removal: AssetSource.RemovalPolicy
    private let context: BlobContext
    /// The state of the reader, which is observed and shared with a watch of the library if the context has an event
    /// sink.
    private let representation: BlobObservable<Representation>
    /// The observations of changes, which end when the stream is released.
    private var registrations: [any AnyObject & Sendable] = []
    /// The commit after which the asset was last looked up; nil if unknown.
    private var commit: CatalogueCommit?
    private var file: OriginalFile
    private let blocks: BlockDigests
    /// The bytes that were fetched but not yet delivered.
    private let window: Window

    init(
        _ asset: Asset, _ resolver: AssetResolver, at byteOffset: Int64, version: AssetSource.Version,
        removal: AssetSource.RemovalPolicy, _ context: BlobContext
    ) throws(BlobError) {
        self.asset = asset
        self.resolver = resolver
        self.version = version
        self.removal = removal
        self.context = context
        self.window = Window(Int(min(asset.byteCount, Int64(BlockDigests.blockByteCount))))
        self.representation = BlobObservable(Representation(AssetRecord(asset, version), at: byteOffset))
        let file = try Self.openFirst(asset, resolver, self.representation, context)
        self.file = file
        self.blocks = try resolver.backend.blocks(of: asset) { () throws(BlobError) in
            try file.digests(byteCount: asset.byteCount, context)
        }
        guard context.isObserved else { return }
        self.registrations = [
            self.representation.observe(\.self) { change in
                if let old = change.old, let event = change.new?.event(since: old) { context.report(event) }
            }
        ]
        // Changes between reads are also reported to the sink. Reading does not depend on this.
        let follow = { @Sendable [representation] in
            guard let record = try? resolver.record(version) else { return }
            representation.update { if $0.record != record { $0.invalidate(.recatalogued) } }
        }
        self.registrations += resolver.backend.observeCommits(follow)
        follow()
    }

    var info: BlobInfo? { self.asset.info }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        do {
            if !self.window.isEmpty {
                self.window.move(to: &output)
            } else if byteOffset < self.asset.byteCount {
                let block = self.asset.block(Int(byteOffset / Int64(BlockDigests.blockByteCount)))
                try self.fetch(block, skipping: Int(byteOffset - block.lowerBound), into: &output)
            } else {
                try self.checkRecord()
                self.representation.update { $0.end() }
                return .end
            }
            return .bytes
        } catch {
            self.representation.update { $0.fail() }
            throw error
        }
    }

    func close() {
        self.representation.update { $0.close() }
        self.file.close()
    }

    /// Delivers as much of a block as fits, and keeps the rest in the window.
    ///
    /// If possible, reads directly into the output, which saves a copy. Bytes before the offset are only hashed.
    private func fetch(_ block: Range<Int64>, skipping skipped: Int, into output: inout OutputRawSpan) throws {
        try output.append(atMost: skipped == 0 ? block.count : 0) { part in
            try part.withUnsafeMutableBytes { buffer, initializedCount in
                try self.window.fill { output in
                    try output.withUnsafeMutableBytes { rest, restCount in
                        restCount = block.count - buffer.count
                        try self.fetch(block, into: buffer, UnsafeMutableRawBufferPointer(rebasing: rest[..<restCount]))
                    }
                }
                initializedCount = buffer.count
                self.window.drop(skipped)
            }
        }
        if skipped > 0 { self.window.move(to: &output) }
    }

    /// Reads a block of an unchanged file, and verifies its digest.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch`` if the bytes are not the imported bytes.
    private func fetch(
        _ block: Range<Int64>, into head: UnsafeMutableRawBufferPointer, _ rest: UnsafeMutableRawBufferPointer
    ) throws(BlobError) {
        while true {
            try self.context.check()
            try self.checkRecord()
            guard let found = try self.readUnchangedBytes(into: head, rest, at: block.lowerBound) else { continue }
            let expected = self.blocks[Int(block.lowerBound / Int64(BlockDigests.blockByteCount))]
            guard found.elementsEqual(expected) else {
                throw BlobError(
                    .checksumMismatch,
                    "The next \(block.count) bytes of the original have the SHA-256 \(found.hexadecimal), but had "
                        + "\(Array(expected).hexadecimal) when they were imported.", byteOffset: block.lowerBound)
            }
            return self.representation.update { $0.deliver(upTo: block.upperBound) }
        }
    }

    /// Reads bytes, and returns their digest; returns nil after a recovery from a change of the file.
    private func readUnchangedBytes(
        into head: UnsafeMutableRawBufferPointer, _ rest: UnsafeMutableRawBufferPointer, at byteOffset: Int64
    ) throws(BlobError) -> [UInt8]? {
        let found: [UInt8]?
        let now: FileStatus
        do {
            found = try self.file.readAndHash(into: head, rest, at: byteOffset)
            now = try self.file.status()
        } catch {
            try self.recover(.offline, error)
            return nil
        }
        if now == self.file.snapshot, let found { return found }
        try self.recover(now.hasContent(of: self.file.snapshot) ? .moved : .edited, nil)
        return nil
    }

    // MARK: Finding the file

    private static func openFirst(
        _ expected: Asset, _ resolver: AssetResolver, _ representation: BlobObservable<Representation>,
        _ context: BlobContext
    ) throws(BlobError) -> OriginalFile {
        var asset = expected
        while let delay = representation.update({ $0.resolve() }) {
            if delay > .zero {
                // The file may have been moved after its path was looked up.
                try context.pause(for: delay)
                asset = try resolver.asset(context)
                try asset.check(sameContentAs: expected, .original)
            }
            let file: OriginalFile
            do {
                file = try resolver.file(of: asset)
            } catch  where error.code == .notFound {
                continue
            }
            guard file.snapshot.byteCount == asset.byteCount else {
                throw BlobError(
                    .sizeMismatch,
                    "The original has \(file.snapshot.byteCount) bytes, but had \(asset.byteCount) when it was "
                        + "imported."
                )
            }
            representation.update { _ = $0.becomeReady() }
            return file
        }
        throw BlobError(.notFound, "The original of the asset is missing: \(asset.storedPath).")
    }

    /// Looks up the asset again after a commit, and recovers if a fact on which the reader depends has changed.
    private func checkRecord() throws(BlobError) {
        if self.version == .current || self.removal == .fail {
            do {
                let commit = try self.resolver.backend.lastCommit()
                if !commit.isSame(as: self.commit) {
                    let record = try self.resolver.record(self.version)
                    self.commit = commit
                    self.representation.update { if $0.record != record { $0.invalidate(.recatalogued) } }
                }
            } catch  where self.removal == .finish {
                // An unreadable catalogue does not affect the bytes for which the reader was opened.
            }
        }
        if case .invalidated(let reason) = self.representation.value.state { try self.recover(reason, nil) }
    }

    /// Sets ``file`` to a file from which reading can continue.
    private func recover(_ reason: Representation.Reason, _ cause: BlobError?) throws(BlobError) {
        self.representation.update { $0.invalidate(reason) }
        while let delay = self.representation.update({ $0.resolve() }) {
            if delay > .zero { try self.context.pause(for: delay) }
            if try self.find(reason), self.representation.update({ $0.becomeReady() }) { return }
        }
        if let cause { throw cause }
        throw BlobError(.changed, "The original was moved, removed or modified, and could not be found again.")
    }

    /// Attempts to find the file; returns false if another attempt may succeed.
    private func find(_ reason: Representation.Reason) throws(BlobError) -> Bool {
        let asset: Asset?
        do throws(BlobError) {
            asset = try self.resolver.backend.asset(named: self.resolver.id, self.context)
        } catch  where error.code == .notFound {
            // The file in the catalogue is missing, possibly only for a moment.
            guard self.removal == .finish, reason == .moved || reason == .recatalogued else { return false }
            return try self.file.acceptStatus()
        }
        self.representation.update { $0.record = asset.map { AssetRecord($0, self.version) } }
        if asset == nil, self.removal == .fail {
            throw BlobError(.changed, "The asset was removed from the library while it was being read.")
        }
        try asset?.check(sameContentAs: self.asset, self.version)
        if self.removal == .finish, reason == .moved || reason == .recatalogued, try self.file.acceptStatus() {
            return true
        }
        guard let asset else {
            throw BlobError(.changed, "The asset was removed from the library while it was being read.")
        }
        let found: OriginalFile
        do {
            found = try self.resolver.file(of: asset)
        } catch  where error.code == .notFound {
            return false
        }
        let isSameFile = found.snapshot.identity == self.file.snapshot.identity
        if reason != .edited, isSameFile { return try self.file.acceptStatus() }
        guard try found.hasContent(of: self.asset, self.blocks, self.context) else {
            throw BlobError(.changed, "The original was modified or replaced while it was being read.")
        }
        self.file = found
        return true
    }
}

extension Asset {
    /// Returns the range of the block with this number, counting from 0; empty past the last block.
    func block(_ number: Int) -> Range<Int64> {
        let start = min(self.byteCount, Int64(number) * Int64(BlockDigests.blockByteCount))
        return start..<min(self.byteCount, start + Int64(BlockDigests.blockByteCount))
    }

    /// Throws if the content of a version differs from an earlier look-up.
    ///
    /// - Throws: ``BlobError/Code/changed``, with the asset's current content in its message.
    func check(sameContentAs other: Asset, _ version: AssetSource.Version) throws(BlobError) {
        guard !AssetRecord(self, version).hasContent(of: AssetRecord(other, version)) else { return }
        let act = self.sha256 == other.sha256 ? "edited" : "given another original"
        throw BlobError(
            .changed,
            "The asset was \(act) while it was being read: it now has generation \(self.generation) with the validator "
                + "\(self.validator.token), but had generation \(other.generation) when it was opened.",
            locator: self.locator.text)
    }
}

/// An inspector of bytes made from an asset, such as a rendered picture, which ends reading with an error if the asset
/// is edited.
///
/// After commits to the catalogue, the catalogue is queried before the next read and at the end. With an event sink, an
/// edit is also reported between reads.
final class AssetChangeInspector: BlobInspector {
    private let asset: Asset
    private let resolver: AssetResolver
    private let removal: AssetSource.RemovalPolicy
    private let report: @Sendable () -> Void
    /// The observations of changes, which end when the inspector is released.
    private var registrations: [any AnyObject & Sendable] = []
    /// The commit after which the asset was last looked up; nil if unknown.
    private var commit: CatalogueCommit?

    /// - Parameters:
    ///   - asset: The asset from which the bytes were made, as the catalogue described it at that time.
    ///   - byteOffset: The offset at which the bytes begin, for events.
    init(
        _ asset: Asset, _ resolver: AssetResolver, at byteOffset: Int64, removal: AssetSource.RemovalPolicy,
        _ context: BlobContext
    ) {
        (self.asset, self.resolver, self.removal) = (asset, resolver, removal)
        let isReported = Locked(false)
        self.report = {
            if !isReported.exchange(true) { context.report(BlobEvent(.invalidated, byteOffset)) }
        }
        guard context.isObserved else { return }
        self.registrations = resolver.backend.observeCommits { [report] in
            let found = Result { () throws(BlobError) in try Self.check(asset, resolver, removal) }
            if case .failure(let error) = found, error.code == .changed { report() }
        }
    }

    func readLimit() throws -> BlobReadLimit {
        try self.checkAfterCommit()
        return .bytes(.max)
    }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }

    private func checkAfterCommit() throws(BlobError) {
        do {
            let commit = try self.resolver.backend.lastCommit()
            guard !commit.isSame(as: self.commit) else { return }
            try Self.check(self.asset, self.resolver, self.removal)
            self.commit = commit
        } catch  where error.code != .changed && self.removal == .finish {
            // An unreadable catalogue does not affect the bytes for which the reader was opened.
        } catch {
            self.report()
            throw error
        }
    }

    /// Throws if the asset was edited, or if it was removed and the policy is ``AssetSource/RemovalPolicy/fail``.
    private static func check(
        _ asset: Asset, _ resolver: AssetResolver, _ removal: AssetSource.RemovalPolicy
    ) throws(BlobError) {
        if let now = try resolver.backend.asset(named: resolver.id, BlobContext()) {
            try now.check(sameContentAs: asset, .current)
        } else if removal == .fail {
            throw BlobError(.changed, "The asset was removed from the library while it was being read.")
        }
    }
}
#endif
