import BlobCore
import BlobDeflate
internal import BlobIndex

/// The archive in a source that begins with a program to unpack it, or the whole source without such a program.
///
/// A zip does not need this source, because it is located by its end.
final class EmbeddedSource: BlobLayer {
    /// The maximum offset of an archive, in bytes: 8 MiB. Programs that unpack archives are smaller than 1 MiB.
    static let maximumOffset = 8 << 20

    private static let programs: [[UInt8]] = [
        // Windows, ELF, scripts, and Mach-O for one or several architectures.
        Array("MZ".utf8), [0x7F, 0x45, 0x4C, 0x46], Array("#!".utf8), [0xCF, 0xFA, 0xED, 0xFE],
        [0xCA, 0xFE, 0xBA, 0xBE],
    ]

    let underlying: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let archiveOffset = CachedFacts<Int64>()

    init(_ base: any BlobInputStreamDataSource, _ format: ArchiveFormat) {
        (self.underlying, self.format) = (base, format)
    }

    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.archive(context).info(context) }

    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        let byteOffset = self.archiveOffset.last ?? 0
        (byteOffset > 0 ? self.underlying.slice(byteOffset...) : self.underlying).prepare(ranges, context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.archive(opening.context).makeBody(opening)
    }

    private func archive(_ context: BlobContext) throws -> any BlobInputStreamDataSource {
        let info = try self.underlying.info(context)
        guard info.isRandomAccess else { return self.underlying }
        let byteOffset = try self.archiveOffset.facts(of: info) {
            try Self.byteOffset(of: self.format, in: self.underlying, context) ?? 0
        }
        return byteOffset > 0 ? self.underlying.slice(byteOffset...) : self.underlying
    }

    /// True if the opened archive follows a program.
    var hasProgram: Bool { self.archiveOffset.last ?? 0 > 0 }

    /// Returns true if a source begins like a program.
    static func isProgram(_ beginning: some Sequence<UInt8>) -> Bool {
        Self.programs.contains { beginning.starts(with: $0) }
    }

    /// Returns the offset of an archive after a program; nil if not found.
    static func byteOffset(
        of format: ArchiveFormat, in base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> Int64? {
        let beginning = try base.beginning(4, context)
        guard Self.isProgram(beginning), let signature = format.signatures.first?.bytes, let first = signature.first
        else { return nil }
        let scanner = try ArchiveScanner(base, context)
        var byteOffset: Int64 = 0
        while byteOffset < Self.maximumOffset,
            case let bytes = try scanner.availableBytes(at: byteOffset, atMost: .max), !bytes.isEmpty
        {
            guard let place = bytes.firstIndex(of: first, from: 0) else {
                byteOffset += Int64(bytes.count)
                continue
            }
            byteOffset += Int64(place)
            let start = try scanner.bytes(at: byteOffset, count: ArchiveFormat.startByteCount)
            if start.starts(with: signature), format.isArchive(Array(start)) { return byteOffset }
            byteOffset += 1
        }
        return nil
    }
}

extension BlobInputStreamDataSource {
    /// True if the opened archive follows the program that unpacks it; a digital signature of both may then follow the
    /// end.
    var followsProgram: Bool {
        self.first(ofType: EmbeddedSource.self)?.hasProgram ?? false
    }
}

extension ArchiveFormat {
    /// Returns true if 32 bytes begin a 7z: the four bytes after the first eight are the checksum of the last 20.
    static func isStartOfSevenZip(_ bytes: [UInt8]) -> Bool {
        UInt64(CRC32(of: bytes[12..<32]).value) == bytes[8..<12].littleEndian
    }

    /// The number of bytes that ``isArchive(_:)`` examines.
    fileprivate static let startByteCount = 32

    /// Returns true if these bytes begin an archive.
    ///
    /// The signature alone is not enough, because a program may contain it.
    fileprivate func isArchive(_ start: [UInt8]) -> Bool {
        guard start.count == Self.startByteCount else { return false }
        switch self {
        // 7zFormat.txt, SignatureHeader: the version, and a checksum of the 20 bytes that follow it.
        case .sevenzip: return start[6] == 0 && Self.isStartOfSevenZip(start)
        // The first block of a RAR is its header, or in version 5 its encryption header, after a checksum and a length.
        case .rar where start[6] == 0: return start[9] == 0x73
        case .rar where start[6] == 1:
            let type = start[12] & 0x80 == 0 ? start[13] : start[14]
            return start[7] == 0 && (type == 1 || type == 4)
        default: return false
        }
    }
}
