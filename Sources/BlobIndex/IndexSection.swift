package import BlobCore
import BlobDeflate
import BlobPlatform

/// A section of an index file, open for reading; unaffected when the file is replaced or removed.
package final class IndexSection: Sendable {
    /// The kind of a section, named by four letters.
    package struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Restart points of compressed data.
        package static let restartPoints = Self("PNTS")

        /// The table of the members of a container.
        package static let members = Self("MEMB")

        /// The checksums of parts of the content.
        static let parts = Self("PRTS")

        /// Creates a kind.
        ///
        /// - Parameter name: Four ASCII letters, of which the first is also the first in the file.
        package init(_ name: StaticString) {
            precondition(name.utf8CodeUnitCount == 4 && name.isASCII, "A kind must have four ASCII letters.")
            self.rawValue = name.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        }

        /// The four letters.
        package var description: String {
            withUnsafeBytes(of: self.rawValue.littleEndian) { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The key of a section within its file.
    package struct Key: Hashable, Sendable {
        /// The path of layers over the origin: `gzip`, `tar+gzip`, with any selectors.
        package let layer: String
        package let kind: Kind

        package init(layer: String, kind: Kind) {
            precondition(
                layer.utf8.count <= IndexSection.maximumTextByteCount,
                "The name of the layer must not be longer than the limit.")
            (self.layer, self.kind) = (layer, kind)
        }
    }

    /// The options of a section.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The records have their own checksums: opening does not read the section.
        ///
        /// Without this flag, opening reads and verifies the whole section.
        package static let hasOwnChecks = Self(rawValue: 1 << 0)
    }

    /// The facts about a section that are known without reading it.
    package struct Entry: Hashable, Sendable {
        package let key: Key
        let flags: Flags
        /// The content that the section was made from.
        package let content: IndexedContent
        let byteOffset: Int64
        package let byteCount: Int64
        let checksum: UInt32
    }

    /// The length of the longest name of a layer, and of the longest text of an origin, in bytes of UTF-8.
    static let maximumTextByteCount = 16 * 1024

    /// The length of the largest section that ``bytes()`` loads: 256 MiB.
    package static let maximumLoadedByteCount: Int64 = 256 << 20

    private let file: IndexDescriptor
    private let entry: Entry
    private let loadedBytes = Locked<[UInt8]?>(nil)

    init(_ file: IndexDescriptor, _ entry: Entry) {
        self.file = file
        self.entry = entry
    }

    /// The length of the section in bytes.
    package var byteCount: Int64 { self.entry.byteCount }

    /// Returns the whole section, which is loaded and verified once.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the checksum is wrong; ``BlobError/Code/limitExceeded`` if the
    ///   section is longer than ``maximumLoadedByteCount``.
    package func bytes() throws(BlobError) -> [UInt8] {
        try self.loadedBytes.withLock { loaded throws(BlobError) in
            if let loaded { return loaded }
            guard self.byteCount <= Self.maximumLoadedByteCount else {
                throw BlobError(
                    .limitExceeded,
                    "The section \(self.entry.key.kind) of the index has \(self.byteCount) bytes, more than the "
                        + "limit of \(Self.maximumLoadedByteCount).")
            }
            let bytes = try self.read(at: 0, count: Int(self.byteCount))
            guard CRC32(of: bytes).value == self.entry.checksum else {
                throw BlobError(.corrupted, "The checksum of the section \(self.entry.key.kind) of the index is wrong.")
            }
            loaded = bytes
            return bytes
        }
    }

    /// Returns the whole section; nil if it has a wrong checksum, or is too long to load.
    ///
    /// - Throws: Errors of reading the file. A damaged section is not an error.
    func wholeBytes() throws(BlobError) -> [UInt8]? {
        do throws(BlobError) {
            return try self.bytes()
        } catch {
            guard error.code == .corrupted || error.code == .limitExceeded else { throw error }
            return nil
        }
    }

    /// Reads a part of the section from the file, **without verifying it**: for records with their own checksums.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the part is not within the section or the file was truncated; errors
    ///   of reading the file.
    package func read(at byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        // Before allocating, because the count may come from a damaged file.
        guard byteOffset >= 0, byteOffset <= self.byteCount, count >= 0, Int64(count) <= self.byteCount - byteOffset
        else {
            throw BlobError(
                .corrupted, "The index points past the end of its section \(self.entry.key.kind).",
                byteOffset: byteOffset)
        }
        return try self.file.read(at: self.entry.byteOffset + byteOffset, count: count)
    }
}

/// A section to write.
package struct NewIndexSection {
    /// A function that receives the next bytes of a payload, in pieces of any size.
    package typealias Sink = (UnsafeRawBufferPointer) throws(BlobError) -> Void

    package let key: IndexSection.Key
    package let flags: IndexSection.Flags
    let produce: (Sink) throws(BlobError) -> Void

    /// Creates a section of any length, which is never held in memory as a whole.
    ///
    /// - Parameter produce: A closure that is called once with the sink for the bytes. If it throws, writing stops and
    ///   no file is left.
    package init(
        _ key: IndexSection.Key, flags: IndexSection.Flags = [],
        produce: @escaping (_ sink: Sink) throws(BlobError) -> Void
    ) {
        self.key = key
        self.flags = flags
        self.produce = produce
    }

    /// Creates a section of `bytes`.
    package init(_ key: IndexSection.Key, flags: IndexSection.Flags = [], bytes: [UInt8]) {
        self.init(key, flags: flags) { sink throws(BlobError) in try bytes.withBytes(sink) }
    }
}
