import BlobCore

/// A walker over a disc image, which rejects an image whose files are only in UDF, because libarchive does not read
/// UDF.
final class ISOWalker: WalkerLayer {
    let base: any MemberWalker
    private let volume: DiscVolume
    private var (fileCount, directoryCount) = (0, 0)

    private init(_ walker: any MemberWalker, _ volume: DiscVolume) { (self.base, self.volume) = (walker, volume) }

    /// Returns a walker over a disc image.
    ///
    /// - Parameter makeWalker: Makes the libarchive walker over the bytes. Receives a new source, because the first
    ///   bytes of the original source were read.
    /// - Throws: ``BlobError/Code/unsupported`` if UDF lists files that ISO 9660 does not.
    static func walker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext,
        _ makeWalker: (any BlobInputStreamDataSource) throws(BlobError) -> any MemberWalker
    ) throws(BlobError) -> any MemberWalker {
        let (beginning, whole) = try base.peeking(DiscVolume.byteCount, context)
        guard let volume = beginning.withUnsafeBytes({ DiscVolume($0) }) else { return try makeWalker(whole) }
        guard !volume.hidesFiles else { throw volume.unsupportedVolumeError }
        return ISOWalker(try makeWalker(whole), volume)
    }

    func advance() throws(BlobError) -> Bool {
        guard try self.base.advance() else {
            guard !self.volume.hasMore(thanFiles: self.fileCount, directories: self.directoryCount) else {
                throw self.volume.unsupportedVolumeError
            }
            return false
        }
        if self.entry.member.kind == .directory { self.directoryCount += 1 } else { self.fileCount += 1 }
        return true
    }
}

extension BlobInputStreamDataSource {
    /// Returns the first bytes, fewer only if the source is shorter, and a source of all bytes, even if this source can
    /// be read only once.
    fileprivate func peeking(
        _ byteCount: Int, _ context: BlobContext
    ) throws(BlobError) -> (beginning: [UInt8], whole: any BlobInputStreamDataSource) {
        guard !self.traits.contains(.repeatable) else { return (try self.beginning(byteCount, context), self) }
        let reader = try self.open(context: context)
        let beginning = try reader.beginning(byteCount)
        let whole = UnsafeTransfer(reader)  // Safe: the walker alone reads it.
        let source = SequentialSource(info: reader.info) { _ in .inspected(whole.value, UnchangedBytes(), startingAt: 0)
        }
        return (beginning, source)
    }
}

/// The facts about the UDF file system of a disc image that also has an ISO 9660 file system, from the first sectors of
/// the image (ECMA-119, ECMA-167 and OSTA UDF 2.60; numbers in parentheses are sections of ECMA-167, part 3).
///
/// A bridge disc lists the same files in both file systems. Other discs, such as the installers of Windows, list all
/// files only in UDF; their ISO 9660 file system contains only a text file that explains this.
struct DiscVolume {
    /// The number of bytes examined: the UDF anchor is in sector 256, after the descriptors that it names.
    static let byteCount = 300 * sectorByteCount
    static let sectorByteCount = 2048

    /// The length of a path table that contains only the root (ECMA-119, 9.4).
    private static let rootPathTableByteCount: UInt32 = 10
    private static let (firstDescriptor, lastDescriptor, anchor) = (16, 64, 256)
    private static let (anchorTag, logicalVolumeTag) = (UInt16(2), UInt16(6))
    private static let (endTag, integrityTag) = (UInt16(8), UInt16(9))

    /// The numbers of files and directories, including the root; nil if the volume does not state them.
    private(set) var counts: (files: UInt32, directories: UInt32)?
    /// True if the root is the only directory of each ISO 9660 tree.
    private(set) var isFlat = true

    /// Returns nil for an image without UDF.
    ///
    /// - Parameter beginning: The first ``byteCount`` bytes of the image, fewer only if the image is shorter.
    init?(_ beginning: UnsafeRawBufferPointer) {
        var hasUDF = false
        for number in Self.firstDescriptor...Self.lastDescriptor {
            let sector = Self.sector(number, in: beginning)
            let name = sector.dropFirst(1).prefix(5)
            if name.elementsEqual("CD001".utf8) {
                // ECMA-119, 8.4 and 8.5: the primary descriptor, and the descriptors with other character sets.
                guard sector[sector.startIndex] == 1 || sector[sector.startIndex] == 2 else { continue }
                self.isFlat = self.isFlat && sector.number32(at: 132) <= Self.rootPathTableByteCount
            } else if name.elementsEqual("NSR02".utf8) || name.elementsEqual("NSR03".utf8) {
                hasUDF = true
            } else if !name.elementsEqual("BEA01".utf8), !name.elementsEqual("BOOT2".utf8) {
                break
            }
        }
        guard hasUDF else { return nil }
        self.counts = Self.counts(in: beginning)
    }

    /// Returns true if the UDF file system has more files or directories than these numbers.
    func hasMore(thanFiles fileCount: Int, directories directoryCount: Int) -> Bool {
        guard let counts else { return false }
        return counts.files > fileCount || counts.directories > directoryCount
    }

    /// True if the ISO 9660 file system cannot list the files in UDF, because it has no directories, and UDF has some
    /// or an unknown number.
    var hidesFiles: Bool { self.isFlat && self.counts?.directories != 1 }

    /// The error for an image with files listed only in UDF.
    var unsupportedVolumeError: BlobError {
        let what = self.counts.map { " with \($0.files) files" } ?? ""
        return BlobError(
            .unsupported,
            "The image has a UDF file system\(what), which is not supported, and its ISO 9660 file system lists only "
                + "some of the files.")
    }

    /// Reads the numbers of files and directories: the anchor (10.2) names the descriptors of the volume, one of which
    /// (10.6) refers to the integrity descriptor (10.10; UDF 2.2.6.4).
    private static func counts(in image: UnsafeRawBufferPointer) -> (UInt32, UInt32)? {
        let anchor = self.sector(self.anchor, in: image)
        guard anchor.number16(at: 0) == self.anchorTag else { return nil }
        let start = Int(anchor.number32(at: 20))
        for number in start..<(start + 64) {
            let descriptor = self.sector(number, in: image)
            switch descriptor.number16(at: 0) {
            case self.logicalVolumeTag:
                let integrity = self.sector(Int(descriptor.number32(at: 436)), in: image)
                let use = 80 + 8 * Int(integrity.number32(at: 72))
                guard integrity.number16(at: 0) == self.integrityTag, use + 40 <= integrity.count,
                    integrity.number32(at: 76) >= 46
                else { return nil }
                let (files, directories) = (integrity.number32(at: use + 32), integrity.number32(at: use + 36))
                return directories == 0 || directories == .max ? nil : (files, directories)
            case 0, self.endTag: return nil
            default: continue
            }
        }
        return nil
    }

    /// Returns a sector of the image; empty if the sector is not within the bytes.
    private static func sector(_ number: Int, in image: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let (start, overflows) = number.multipliedReportingOverflow(by: self.sectorByteCount)
        guard !overflows, start >= 0, start <= image.count - self.sectorByteCount else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(rebasing: image[start..<(start + self.sectorByteCount)])
    }
}
