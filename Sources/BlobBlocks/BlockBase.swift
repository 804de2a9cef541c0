package import BlobCore

/// The compressed bytes of a base with random access.
package struct BlockBase: Sendable {
    let source: any BlobInputStreamDataSource
    package let info: BlobInfo
    let byteCount: Int64
    let context: BlobContext

    /// Creates the compressed bytes of `source`; nil when that has no random access or an unknown length.
    ///
    /// - Parameter info: The current info of `source`, whose content all readers must have.
    package init?(_ source: any BlobInputStreamDataSource, _ info: BlobInfo, _ context: BlobContext) {
        guard source.traits.contains(.repeatable), info.isRandomAccess, let byteCount = info.byteCount else {
            return nil
        }
        (self.source, self.info, self.byteCount, self.context) = (source, info, byteCount, context)
    }

    /// Opens a reader from an offset on.
    func open(at byteOffset: Int64) throws(BlobError) -> BlobReader {
        try self.source.open(at: byteOffset, matching: self.info.validator, context: self.context)
    }

    /// Returns bytes from an offset on; fewer only at the end.
    func bytes(at byteOffset: Int64, count: Int) throws -> [UInt8] {
        let reader = try self.open(at: byteOffset)
        defer { reader.close() }
        return try reader.bytes(count)
    }
}

extension BlobReader {
    /// Reads the next `count` bytes; fewer only at the end. Waits for them.
    func bytes(_ count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let more = try self.readWaiting(into: rest)
                guard more > 0 else { break }
                filled += more
            }
        }
    }

    /// Reads up to the end, for the checks that the base makes there; returns true when all bytes are zeros.
    func drain() throws -> Bool {
        var areZeros = true
        while case let bytes = try self.bytes(64 * 1024), !bytes.isEmpty {
            areZeros = areZeros && bytes.allSatisfy { $0 == 0 }
        }
        return areZeros
    }
}

extension Collection<UInt8> {
    /// The little-endian number in these bytes, at most eight.
    var littleEndian: UInt64 { self.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
