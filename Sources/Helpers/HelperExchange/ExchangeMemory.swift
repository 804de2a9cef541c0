internal import CHelper

/// The memory that a process and its helper share.
package final class ExchangeMemory {
    /// The size of the part for input bytes.
    package static let inputByteCount = 256 * 1024
    /// The size of the part for output bytes, which follows the input.
    package static let outputByteCount = 256 * 1024
    package static let byteCount = inputByteCount + outputByteCount

    private let bytes: UnsafeMutableRawBufferPointer

    /// Maps the memory; nil on failure.
    package init?(descriptor: CInt) {
        guard let start = blob_map_memory(descriptor, Self.byteCount) else { return nil }
        self.bytes = UnsafeMutableRawBufferPointer(start: start, count: Self.byteCount)
    }

    deinit { blob_unmap_memory(self.bytes.baseAddress, self.bytes.count) }

    package var input: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: self.bytes[..<Self.inputByteCount])
    }

    package var output: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: self.bytes[Self.inputByteCount...])
    }

    /// Returns the offset of bytes in the memory; nil if they are outside it.
    package func place(of bytes: UnsafeRawBufferPointer) -> Int64? {
        guard let start = bytes.baseAddress, let base = self.bytes.baseAddress else { return nil }
        let place = Int(bitPattern: start) &- Int(bitPattern: base)
        return self.bytes(at: Int64(place), count: Int64(bytes.count)) == nil ? nil : Int64(place)
    }

    /// Returns the bytes at an offset; nil if they are not within the memory.
    package func bytes(at place: Int64, count: Int64) -> UnsafeRawBufferPointer? {
        let size = Int64(Self.byteCount)
        guard (0...size).contains(place), (0...(size - place)).contains(count) else { return nil }
        return UnsafeRawBufferPointer(rebasing: self.bytes[Int(place)..<Int(place + count)])
    }
}
