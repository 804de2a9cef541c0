import BlobCore

/// A walker over a 7z, which decodes only the folder of the member whose bytes are read.
///
/// libarchive is given an archive of this folder alone. A folder is decoded from its beginning, and the members before
/// the one that is read are read and dropped, because skipping decodes them anyway, and before version 3.7.5 libarchive
/// takes a decoder that was skipped to a multiple of 64 KiB for the end of the archive (libarchive issue 2106).
///
/// Where no archive of a folder can be made, libarchive reads the whole archive, up to the member. An archive with rare
/// coders (PPMd, BCJ2 and so on) is decoded where ``ArchiveIsolation`` says.
final class SevenZipWalker: WalkerLayer {
    /// A walker over the bytes of a folder, or of the whole archive.
    private struct Opened {
        /// The index of the folder; nil for the whole archive.
        let folder: Int?
        let walker: any MemberWalker
    }

    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private let layout: SevenZipLayout?
    /// The place where the archive is decoded; nil when it has only common coders.
    private let isolation: ArchiveIsolation?
    private let headers: HeaderWalker
    private var opened: Opened?
    /// True when ``opened`` is at the bytes of the current member, or the member has none.
    private var isAtBytes = false

    init(
        over source: any BlobInputStreamDataSource, _ context: BlobContext, isolation: ArchiveIsolation = .helper
    ) throws(BlobError) {
        let layout = try SevenZipHeader.check(source, context, isolation: isolation)
        // libarchive decodes the targets of links while it reads headers.
        if layout?.members?.haveLinks != false { try layout?.checkMemory(context) }
        (self.source, self.context, self.layout) = (source, context, layout)
        self.isolation = layout?.hasRareCoders ?? false ? isolation : nil
        self.headers = try HeaderWalker(over: source, self.isolation, context)
    }

    /// Returns a walker of libarchive.
    ///
    /// - Parameter isolation: The place where it decodes; nil for common coders, which are decoded here.
    static func decoder(
        over base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation?, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        guard let isolation else { return try ArchiveWalker(.sevenzip, over: base, context) }
        return try isolation.walker(of: .sevenzip, over: base, context)
    }

    var base: any MemberWalker { self.headers }
    var check: String? { self.opened?.walker.check }

    func advance() throws(BlobError) -> Bool {
        self.isAtBytes = false
        return try self.headers.advance()
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let place = self.layout?.place(of: self.index)
        guard place != SevenZipLayout.Place.none else { return self.end(at: 0) }
        if !self.isAtBytes {
            try self.openBytes(place)
            self.isAtBytes = true
        }
        guard let opened else { preconditionFailure("The bytes were opened.") }
        return try opened.walker.nextBlock()
    }

    private func openBytes(_ place: SevenZipLayout.Place?) throws(BlobError) {
        if case .member(let index, let folder) = place, try self.open(folder: folder, index),
            self.opened?.walker.entry.member.byteCount == self.entry.member.byteCount
        {
            return
        }
        guard try self.open(folder: nil, self.index) else {
            throw .archiveHasChanged
        }
    }

    /// Moves to a member of a folder, or of the whole archive; returns false when there is no such member.
    private func open(folder: Int?, _ index: Int) throws(BlobError) -> Bool {
        if self.opened == nil || self.opened?.folder != folder || self.opened?.walker.index ?? 0 >= index {
            self.opened = nil
            guard let walker = try self.walker(ofFolder: folder) else { return false }
            // The parts of one pass belong together.
            guard try self.source.info(self.context).validator == self.baseInfo.validator else {
                throw .archiveHasChanged
            }
            self.opened = Opened(folder: folder, walker: walker)
        }
        guard let walker = self.opened?.walker else { return false }
        while true {
            if walker.index >= 0, walker.entry.member.hasBytes { try walker.dropData() }
            guard try walker.advance() else { return false }
            if walker.index == index { return true }
        }
    }

    private func walker(ofFolder folder: Int?) throws(BlobError) -> (any MemberWalker)? {
        guard let folder else {
            try self.layout?.checkMemory(self.context)
            return try Self.decoder(over: self.source, self.isolation, self.context)
        }
        return try self.layout?.walker(
            ofFolder: folder, in: self.source, byteCount: self.baseInfo.byteCount, self.isolation,
            self.context)
    }
}

/// A walker over the headers of a 7z, which decodes nothing unless it has to.
///
/// The target of a symbolic link is its contents, so libarchive decodes them for the header. If that fails because the
/// bytes before them were skipped (see ``SevenZipWalker``), the walk starts again at the beginning of the archive, and
/// reads all members.
final class HeaderWalker: WalkerLayer {
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private let isolation: ArchiveIsolation?
    private(set) var base: any MemberWalker
    private var isReading = false

    init(
        over base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation?, _ context: BlobContext
    ) throws(BlobError) {
        self.source = base
        self.isolation = isolation
        self.context = context
        self.base = try SevenZipWalker.decoder(over: base, isolation, context)
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        preconditionFailure("Bytes are read by another walker.")
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isReading else { return try self.readOn() }
        do throws(BlobError) {
            return try self.base.advance()
        } catch  where error.isAboutFormat && !self.isSequential {
            self.isReading = true
            let index = self.index
            self.base = try SevenZipWalker.decoder(over: self.source, self.isolation, self.context)
            while self.index < index { guard try self.readOn() else { return false } }
            return try self.readOn()
        }
    }

    /// Reads the member and advances; damaged bytes of members do not affect their headers.
    private func readOn() throws(BlobError) -> Bool {
        if self.index >= 0, self.entry.member.hasBytes, !self.entry.member.isEncrypted { try? self.base.dropData() }
        return try self.base.advance()
    }
}
