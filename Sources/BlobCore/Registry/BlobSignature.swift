/// Bytes at a fixed offset that identify a format.
public struct BlobSignature: Hashable, Sendable {
    /// The number of bytes of a blob within which signatures lie: 36 KiB, past the volume descriptor of ISO 9660 at 32
    /// KiB (ECMA-119, section 7.2.1), which is the furthest signature in use.
    static let maximumExtent = 36 * 1024

    /// The offset of the bytes from the start of the blob.
    let byteOffset: Int

    /// The bytes.
    package let bytes: [UInt8]

    /// Creates a signature, which must lie within the first 36 KiB of a blob and not be empty.
    public init(_ bytes: [UInt8], at byteOffset: Int = 0) {
        precondition(!bytes.isEmpty && byteOffset >= 0, "A signature has bytes, at an offset from 0.")
        precondition(byteOffset + bytes.count <= Self.maximumExtent, "A signature lies within the first 36 KiB.")
        self.byteOffset = byteOffset
        self.bytes = bytes
    }

    func matches(_ beginning: some RandomAccessCollection<UInt8>) -> Bool {
        beginning.dropFirst(self.byteOffset).starts(with: self.bytes)
    }
}
