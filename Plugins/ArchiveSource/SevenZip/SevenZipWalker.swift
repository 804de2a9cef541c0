internal import BlobBlocks
import BlobCore
import BlobDeflate

/// A walker over a 7z that libarchive reads as a whole.
///
/// libarchive reads the headers first, and then the archive from its beginning up to the member whose bytes are read.
///
/// Earlier members are read and discarded, because skipping decodes them anyway, and because libarchive before version
/// 3.7.5 mistakes a decoder that was skipped to a multiple of 64 KiB for the end of the archive (libarchive issue
/// 2106).
///
/// This walker is used for archives whose folders are unknown, and for names that only libarchive can decode; see
/// ``SevenZipCatalogue``. An archive with rare coders (PPMd, BCJ2 and so on) is decoded in the process that
/// ``ArchiveIsolation`` specifies.
final class SevenZipWalker: WalkerLayer {
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private let layout: SevenZipLayout?
    /// The process that decodes the archive; nil if the archive has only common coders.
    private let isolation: ArchiveIsolation?
    private let headers: HeaderWalker
    /// The walker over the bytes; nil before the first read.
    private var reader: (any MemberWalker)?
    /// True if ``reader`` is at the bytes of the current member.
    private var isAtBytes = false

    init(
        over source: any BlobInputStreamDataSource, _ context: BlobContext, isolation: ArchiveIsolation = .helper
    ) throws(BlobError) {
        let layout = try SevenZipHeader.check(source, context, isolation: isolation)
        // libarchive decodes the targets of links while it reads headers.
        if layout?.members?.containLinks != false { try layout?.checkMemory(context) }
        (self.source, self.context, self.layout) = (source, context, layout)
        self.isolation = layout?.hasRareCoders ?? false ? isolation : nil
        self.headers = try HeaderWalker(over: source, self.isolation, context)
    }

    /// Returns a libarchive walker.
    ///
    /// - Parameter isolation: The process that decodes the archive; nil for common coders, which this process decodes.
    static func decoder(
        over base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation?, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        guard let isolation else { return try ArchiveWalker(.sevenzip, over: base, context) }
        return try isolation.walker(of: .sevenzip, over: base, context)
    }

    var base: any MemberWalker { self.headers }
    var check: String? { self.reader?.check }

    func advance() throws(BlobError) -> Bool {
        self.isAtBytes = false
        return try self.headers.advance()
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        if let layout, layout.stream(of: self.index) == nil { return self.end(at: 0) }
        if let reader, self.isAtBytes { return try reader.nextBlock() }
        let reader = try self.readerAtMember()
        (self.reader, self.isAtBytes) = (reader, true)
        return try reader.nextBlock()
    }

    /// Returns a walker positioned at the bytes of the current member.
    private func readerAtMember() throws(BlobError) -> any MemberWalker {
        var reader = self.reader
        if reader?.index ?? .max >= self.index {
            try self.layout?.checkMemory(self.context)
            reader = try Self.decoder(over: self.source, self.isolation, self.context)
        }
        // The archive must not have changed since its headers were read.
        guard let reader, try self.source.info(self.context).validator == self.baseInfo.validator else {
            throw .archiveChangedError
        }
        while reader.index < self.index {
            if reader.index >= 0, reader.entry.member.hasBytes { try reader.dropData() }
            guard try reader.advance() else { throw .archiveChangedError }
        }
        return reader
    }
}

/// A walker over the headers of a 7z, which decodes member bytes only if necessary.
///
/// The target of a symbolic link is its content, so libarchive decodes it for the header. If that fails because the
/// bytes before it were skipped (see ``SevenZipWalker``), the walk restarts at the beginning of the archive and reads
/// all members.
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
        preconditionFailure("This walker only reads headers; it does not return the bytes of members.")
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

    /// Reads the current member and advances; damage in a member's bytes does not affect the headers.
    private func readOn() throws(BlobError) -> Bool {
        if self.index >= 0, self.entry.member.hasBytes, !self.entry.member.isEncrypted { try? self.base.dropData() }
        return try self.base.advance()
    }
}

/// A walker over the members of a 7z folder whose last coder is a branch filter, which liblzma decodes.
///
/// Another walker, whose only member is the whole folder, decodes the coders before it.
final class BranchWalker: WalkerLayer {
    let base: any MemberWalker
    private let decoder: BranchDecoder
    private let byteCounts: [UInt64]
    private let checksums: [UInt32?]
    /// The decoded bytes; the bytes before `usedByteCount` were already delivered.
    private var decodedBytes: [UInt8] = []
    private var usedByteCount = 0
    private var isAtEnd = false
    /// The bytes that were last returned to the caller.
    private let lentBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var byteOffset: UInt64 = 0
    private var sum = CRC32()

    private(set) var index = -1

    init(
        _ base: any MemberWalker, _ filter: SevenZipCoders.Branch, byteCounts: [UInt64], checksums: [UInt32?]
    ) throws(BlobError) {
        self.base = base
        (self.byteCounts, self.checksums) = (byteCounts, checksums)
        self.decoder = try BranchDecoder(filter.method, startOffset: filter.startOffset)
        guard try base.advance() else { throw Self.shortStreamError }
    }

    deinit { self.lentBuffer.deallocate() }

    var entry: ArchiveEntry {
        let byteCount = Int64(clamping: self.byteCounts[self.index])
        return ArchiveEntry(
            member: BlobMember(index: self.index, name: [UInt8(ascii: "m")], byteCount: byteCount))
    }

    var check: String? { self.checksums[self.index] == nil ? nil : "CRC-32" }

    func advance() throws(BlobError) -> Bool {
        if self.index >= 0 { try self.dropData() }
        guard self.index + 1 < self.byteCounts.count else { return false }
        self.index += 1
        (self.byteOffset, self.sum) = (0, CRC32())
        return true
    }

    /// Drops the bytes without verifying the checksum, because damage in one member does not affect the next, which has
    /// its own checksum.
    func dropData() throws(BlobError) {
        while self.byteOffset < self.byteCounts[self.index] { _ = try self.nextBlock() }
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let start = Int64(clamping: self.byteOffset)
        let rest = self.byteCounts[self.index] - self.byteOffset
        guard rest > 0 else {
            try self.sum.check(self.checksums[self.index], in: "the header of the archive")
            return self.end(at: start)
        }
        while self.usedByteCount == self.decodedBytes.count {
            guard !self.isAtEnd else { throw Self.shortStreamError }
            let bytes = try self.base.nextBlock().bytes
            self.isAtEnd = bytes.isEmpty
            (self.decodedBytes, self.usedByteCount) = (try self.decoder.decode(bytes, isLast: self.isAtEnd), 0)
        }
        let count = Int(min(rest, UInt64(min(self.lentBuffer.count, self.decodedBytes.count - self.usedByteCount))))
        self.lentBuffer.copyBytes(from: self.decodedBytes[self.usedByteCount..<(self.usedByteCount + count)])
        self.usedByteCount += count
        self.byteOffset += UInt64(count)
        let bytes = UnsafeRawBufferPointer(rebasing: self.lentBuffer[..<count])
        self.sum.update(bytes)
        return (bytes, start)
    }

    private static var shortStreamError: BlobError {
        BlobError(.truncated, "A folder of the 7z archive has fewer bytes than its members.")
    }
}
