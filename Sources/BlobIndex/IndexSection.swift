import BlobInflate
package import BlobStreams
import Foundation

/// One section of an index file, open for reading. It stays what it is when the file is replaced or removed.
package final class IndexSection: Sendable {
    /// What a section holds, in four letters.
    package struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Restart points of compressed data.
        package static let restartPoints = Self("PNTS")

        /// The table of the members of a container.
        package static let members = Self("MEMB")

        /// - Parameter name: Four ASCII letters, the first of them first in the file.
        package init(_ name: StaticString) {
            precondition(name.utf8CodeUnitCount == 4 && name.isASCII, "A kind has four ASCII letters.")
            self.rawValue = name.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        }

        /// The letters.
        package var description: String {
            withUnsafeBytes(of: self.rawValue.littleEndian) { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Names a section within its file.
    package struct Key: Hashable, Sendable {
        /// The path of layers over the origin: `gzip`, `tar+gzip`, with selectors where there are some.
        package let layer: String
        package let kind: Kind

        package init(layer: String, kind: Kind) {
            precondition(layer.utf8.count <= IndexTable.maximumTextByteCount, "The name of the layer is too long.")
            (self.layer, self.kind) = (layer, kind)
        }
    }

    /// How a section is to be treated.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Its records carry checksums of their own: opening does not read it. Otherwise opening reads and checks it all.
        package static let hasOwnChecks = Self(rawValue: 1 << 0)
    }

    /// What can be said of a section without reading it.
    package struct Summary: Hashable, Sendable {
        package let key: Key
        package let byteCount: Int64
        /// What it was made from.
        package let content: IndexedContent

        package init(key: Key, byteCount: Int64, content: IndexedContent) {
            (self.key, self.byteCount, self.content) = (key, byteCount, content)
        }
    }

    /// The most that ``bytes()`` loads: 256 MiB.
    package static let maximumLoadedByteCount: Int64 = 256 << 20

    private let file: IndexDescriptor
    private let entry: IndexTable.Entry
    private let loaded = Locked<[UInt8]?>(nil)

    init(_ file: IndexDescriptor, _ entry: IndexTable.Entry) {
        self.file = file
        self.entry = entry
    }

    /// The length of the section.
    package var byteCount: Int64 { self.entry.byteCount }

    /// The whole section, loaded once.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when its checksum is wrong, ``BlobError/Code/limitExceeded`` when it is
    ///   longer than ``maximumLoadedByteCount``.
    package func bytes() throws(BlobError) -> [UInt8] {
        try self.loaded.withLock { loaded throws(BlobError) in
            if let loaded { return loaded }
            guard self.byteCount <= Self.maximumLoadedByteCount else {
                throw BlobError(
                    .limitExceeded,
                    "The section \(self.entry.key.kind) of the index has \(self.byteCount) bytes, the limit is "
                        + "\(Self.maximumLoadedByteCount).")
            }
            let bytes = try self.read(at: 0, count: Int(self.byteCount))
            var sum = CRC32()
            bytes.withUnsafeBytes { sum.update($0) }
            guard sum.value == self.entry.checksum else {
                throw BlobError(.corrupted, "The checksum of the section \(self.entry.key.kind) of the index is wrong.")
            }
            loaded = bytes
            return bytes
        }
    }

    /// Whether the section has the right checksum and a length that is loaded.
    ///
    /// - Throws: What keeps it from being read.
    func isWhole() throws(BlobError) -> Bool {
        do throws(BlobError) {
            _ = try self.bytes()
            return true
        } catch {
            guard error.code == .corrupted || error.code == .limitExceeded else { throw error }
            return false
        }
    }

    /// A part of the section, straight from the file and **not verified**: for records with checksums of their own.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` when the part is not within the section or the file was cut.
    package func read(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        // Before memory is asked for.
        try self.checkRange(byteOffset, count)
        var bytes = [UInt8](repeating: 0, count: count)
        try bytes.withMutableBytes { buffer throws(BlobError) in try self.read(at: byteOffset, into: buffer) }
        return bytes
    }

    /// As ``read(at:count:)``, filling memory of the caller's.
    package func read(at byteOffset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) {
        try self.checkRange(byteOffset, buffer.count)
        try self.file.read(at: self.entry.byteOffset + byteOffset, into: buffer)
    }

    private func checkRange(_ byteOffset: Int64, _ count: Int) throws(BlobError) {
        guard byteOffset >= 0, byteOffset <= self.byteCount, count >= 0, Int64(count) <= self.byteCount - byteOffset
        else {
            throw BlobError(
                .corrupted, "The index points behind the end of its section \(self.entry.key.kind).",
                byteOffset: byteOffset)
        }
    }
}
