import BlobCore
import BlobPlatform

/// The archive in a source that begins with a program to unpack it, or the whole source when there is no program.
///
/// Not needed for a zip, which is found by its end.
final class EmbeddedSource: BlobLayer {
    /// The maximum offset of an archive, in bytes: 8 MiB. Programs that unpack archives are smaller than 1 MiB.
    static let maximumOffset = 8 << 20

    private static let programs: [[UInt8]] = [
        // Windows, ELF, a script, and Mach-O for one or several processors.
        Array("MZ".utf8), [0x7F, 0x45, 0x4C, 0x46], Array("#!".utf8), [0xCF, 0xFA, 0xED, 0xFE],
        [0xCA, 0xFE, 0xBA, 0xBE],
    ]
    private static let bufferByteCount = 256 * 1024

    let underlying: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let known = Locked<(validator: BlobValidator, byteOffset: Int64)?>(nil)

    init(_ base: any BlobInputStreamDataSource, _ format: ArchiveFormat) {
        (self.underlying, self.format) = (base, format)
    }

    var traits: BlobTraits { self.underlying.traits.subtracting(.neverBlocks) }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.archive(context).info(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.archive(opening.context).makeBody(opening)
    }

    private func archive(_ context: BlobContext) throws -> any BlobInputStreamDataSource {
        let info = try self.underlying.info(context)
        guard info.isRandomAccess else { return self.underlying }
        let validator = info.validator
        var byteOffset = self.known.withLock { $0?.validator == validator ? $0?.byteOffset : nil }
        if byteOffset == nil {
            byteOffset = try Self.byteOffset(of: self.format, in: self.underlying, context) ?? 0
            self.known.withLock { known in
                guard let validator, let byteOffset else { return }
                known = (validator, byteOffset)
            }
        }
        guard let byteOffset, byteOffset > 0 else { return self.underlying }
        return self.underlying.slice(byteOffset...)
    }

    /// True when the archive, which was opened, follows a program.
    var hasProgram: Bool { self.known.withLock { $0?.byteOffset ?? 0 > 0 } }

    /// Returns true when the first bytes of a source are those of a program.
    static func isProgram(_ beginning: some Sequence<UInt8>) -> Bool {
        Self.programs.contains { beginning.starts(with: $0) }
    }

    /// Returns the offset of an archive behind a program; nil when there is none.
    static func byteOffset(
        of format: ArchiveFormat, in base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> Int64? {
        let beginning = try base.beginning(4, context)
        guard Self.isProgram(beginning),
            let first = format.signatures.first?.bytes.first
        else { return nil }
        let reader = try base.open(context: context)
        defer { reader.close() }
        var buffer: [UInt8] = []
        // The offset of the buffer in the base.
        var start: Int64 = 0
        do {
            while start < Self.maximumOffset {
                let more = try [UInt8](unsafeUninitializedCapacity: Self.bufferByteCount) { bytes, count in
                    count = try reader.readWaiting(into: UnsafeMutableRawBufferPointer(bytes))
                }
                buffer += more
                let isLast = more.isEmpty
                // Bytes too near to the end of the buffer are examined with the bytes that follow.
                let end = isLast ? buffer.count : max(0, buffer.count - ArchiveFormat.startByteCount)
                var place = 0
                while let found = Self.index(of: first, in: buffer, place..<end) {
                    if format.begins(buffer[found...]) { return start + Int64(found) }
                    place = found + 1
                }
                guard !isLast else { break }
                buffer.removeFirst(end)
                start += Int64(end)
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        return nil
    }

    private static func index(of byte: UInt8, in buffer: [UInt8], _ range: Range<Int>) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let found = memchr(start + range.lowerBound, CInt(byte), range.count)
            else { return nil }
            return UnsafeRawPointer(found) - start
        }
    }
}

extension BlobInputStreamDataSource {
    /// True when the archive, which was opened, follows the program that unpacks it: then a signature of both may be
    /// at the end.
    var isBehindProgram: Bool {
        self.first(ofType: EmbeddedSource.self)?.hasProgram ?? false
    }
}

extension ArchiveFormat {
    /// The maximum number of bytes that ``begins(_:)`` examines.
    fileprivate static let startByteCount = 32

    /// Returns true when an archive begins here, and the bytes are not just its signature within a program.
    fileprivate func begins(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = self.signatures.first?.bytes, bytes.first == first.first, bytes.starts(with: first) else {
            return false
        }
        let start = Array(bytes.prefix(Self.startByteCount))
        switch self {
        // 7zFormat.txt, SignatureHeader: the version, and a checksum of the 20 bytes that follow it.
        case .sevenzip: return start.count == Self.startByteCount && start[6] == 0 && SevenZipHeader.isStart(start)
        // The first block of a RAR is its header, or in version 5 its encryption header, after a checksum and a length.
        case .rar where start.count == Self.startByteCount && start[6] == 0: return start[9] == 0x73
        case .rar where start.count == Self.startByteCount && start[6] == 1:
            let type = start[12] & 0x80 == 0 ? start[13] : start[14]
            return start[7] == 0 && (type == 1 || type == 4)
        default: return false
        }
    }
}
