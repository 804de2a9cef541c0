import BlobCore

/// A source with random access: the base if it has random access, otherwise a copy of the base in an unlinked temporary
/// file.
///
/// The base is copied when it is first opened. A repeatable base is copied again if its content has changed, or if it
/// has no validator to detect a change. A copy exists as long as this source or a reader uses it. A copy of decrypted
/// bytes is used only for contexts with the same limits and password, and has no validator, so that no index is made of
/// it.
final class SpooledSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    private let spooledCopy = Locked<Spool?>(nil)
    private let busyState = BlobObservable(false)

    init(_ base: any BlobInputStreamDataSource) { self.underlying = base }

    // Any number of readers can read a copy; a base that is not copied has its own traits.
    var traits: BlobTraits {
        let mayBeRead = self.underlying.traits.contains(.repeatable)
        return mayBeRead ? self.underlying.traits.subtracting(.neverBlocks) : [.repeatable, .concurrentReaders]
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.infoOfRandomAccess(context) ?? self.spool(context).info
    }

    /// Forwards the hint, unless a copy exists.
    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        if self.spooledCopy.withLock({ $0 == nil }) { self.underlying.prepare(ranges, context) }
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard try self.infoOfRandomAccess(opening.context) == nil else {
            return .inspected(try self.underlying.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
        }
        let spool = try self.spool(opening.context)
        return .positional(spool.info) { byteOffset, output in try spool.read(into: &output, at: byteOffset) }
    }

    /// Returns the info of a base that needs no copy; nil if the base must be copied.
    private func infoOfRandomAccess(_ context: BlobContext) throws -> BlobInfo? {
        guard self.underlying.traits.contains(.repeatable) else { return nil }
        let info = try self.underlying.info(context)
        // The length must be known, too, because the directory of an archive is at the end.
        return info.isRandomAccess && info.byteCount != nil ? info : nil
    }

    private func spool(_ context: BlobContext) throws -> Spool {
        // A caller that arrives during a copy waits for it, because some bases can be read only once.
        while self.busyState.update({ isBusy in
            defer { isBusy = true }
            return isBusy
        }) {
            try self.busyState.wait(context) { $0 ? nil : () }
        }
        defer { self.busyState.update { $0 = false } }
        if let spool = self.spooledCopy.withLock({ $0 }) {
            guard self.underlying.traits.contains(.repeatable) else { return spool }
            let validator = try self.underlying.info(context).validator
            if validator != nil, validator == spool.validator, spool.serves(context) { return spool }
        }
        let spool = try Spool(self.underlying, context)
        self.spooledCopy.withLock { $0 = spool }
        return spool
    }
}

/// A copy of the base, and the info of the base when it was copied.
private final class Spool: Sendable {
    let info: BlobInfo
    /// The validator of the base.
    let validator: BlobValidator?
    /// The context of a copy of decrypted bytes; nil for other copies.
    private let context: BlobContext?
    private let file: UnlinkedFile

    init(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws {
        let reader = try base.open(context: context)
        defer { reader.close() }
        let file = try UnlinkedFile()
        try reader.forEachPiece { bytes in
            guard reader.byteOffset <= context.spoolLimit else {
                throw BlobError(
                    .limitExceeded,
                    "To be searched, the archive must be copied to a temporary file, because its source has no random "
                        + "access, but it is larger than the spool limit of \(context.spoolLimit) bytes.",
                    byteOffset: context.spoolLimit, remedy: .spoolLimit)
            }
            try file.append(bytes)
        }
        var info = reader.info
        self.validator = info.validator
        self.context = base.isDecrypted ? context : nil
        if base.isDecrypted { info.validator = nil }
        (info.byteCount, info.isRandomAccess) = (file.byteCount, true)
        self.info = info
        self.file = file
    }

    /// Returns true if readers with this context may read the copy.
    func serves(_ context: BlobContext) -> Bool {
        self.context?.blocking.hasSameLimits(as: context.blocking) != false
    }

    /// Appends bytes from an offset on; appends nothing at the end.
    func read(into output: inout OutputRawSpan, at byteOffset: Int64) throws(BlobError) {
        guard byteOffset < self.file.byteCount else { return }
        try self.file.read(into: &output, at: byteOffset)
    }
}

extension BlobInputStreamDataSource {
    /// True if the bytes were encrypted in this or a lower layer, so that nothing about them may be stored in a file or
    /// made available to readers without the password.
    ///
    /// Valid after the source was opened.
    var isDecrypted: Bool { layerChain(of: self).contains { ($0 as? MemberSource)?.isDecrypting == true } }
}
