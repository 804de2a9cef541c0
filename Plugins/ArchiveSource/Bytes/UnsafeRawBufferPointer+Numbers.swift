import BlobPlatform

extension UnsafeRawBufferPointer {
    /// Returns true when both have the same bytes.
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard self.count == other.count, let start = self.baseAddress, let otherStart = other.baseAddress else {
            return self.count == other.count
        }
        return memcmp(start, otherStart, self.count) == 0
    }
}

/// Little-endian numbers; 0, which is no signature, when they do not lie within the buffer.
extension UnsafeRawBufferPointer {
    @inline(__always)  // Half of the time of a pass over a directory.
    func number16(at offset: Int) -> UInt16 {
        guard offset >= 0, offset + 2 <= self.count else { return 0 }
        return UInt16(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inline(__always)
    func number32(at offset: Int) -> UInt32 {
        guard offset >= 0, offset + 4 <= self.count else { return 0 }
        return UInt32(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    func number64(at offset: Int) -> UInt64 {
        guard offset >= 0, offset + 8 <= self.count else { return 0 }
        return UInt64(littleEndian: self.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
