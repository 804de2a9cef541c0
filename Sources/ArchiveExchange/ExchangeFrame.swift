/// A message between a process that reads an archive and its helper, `blob-archive-helper`, which runs libarchive.
///
/// Both are of one machine and one version of this package: numbers have the byte order of the processor, and
/// ``version`` tells whether the versions fit. A frame is 32 bytes: kind, number of bytes of the payload (32 bits each),
/// and three numbers `a`, `b`, `c` (64 bits each). The payload follows.
///
/// The process sends a command, and the helper answers it with one frame. Before the answer, the helper may ask for
/// bytes of the archive any number of times:
///
/// | command | numbers | answers |
/// |---|---|---|
/// | `open` | a: ``version``; b: 1 with random access; c: length of the archive or -1; payload: its format | `opened` |
/// | `next` | | `entry`, `end` |
/// | `block` | | `data`, `end` |
///
/// | answer | numbers |
/// |---|---|
/// | `opened` | a: ``version`` of the helper |
/// | `entry` | payload: ``ExchangedEntry`` |
/// | `data` | a: offset in the member; b: place in the shared memory; c: number of bytes |
/// | `end` | after `block`: a: length of the member |
/// | `error` | a: ``Failure``; payload: text of libarchive |
///
/// | question | numbers |
/// |---|---|
/// | `need` | a: offset in the archive; b: the greatest number of bytes wanted |
///
/// | answer to a question | numbers |
/// |---|---|
/// | `bytes` | a: number of bytes from the beginning of the shared memory; 0 at the end of the archive |
/// | `failed` | the archive cannot be read; the helper answers the command with an error |
///
/// Bytes never pass through the socket. The shared memory has ``ExchangeMemory/inputByteCount`` bytes for the archive,
/// and after them ``ExchangeMemory/outputByteCount`` bytes for members. What libarchive returns as it is in the archive
/// stays where it is. Each side writes only when it is asked to, and checks all numbers of the other.
package struct ExchangeFrame {
    package enum Kind: UInt32 {
        case open = 1
        case next, block, bytes, failed
        case opened = 16
        case entry, data, end, error, need
    }

    /// The reason for an error of the helper.
    package enum Failure: Int64 {
        /// An error of libarchive; the text tells more, and no text means missing bytes.
        case library = 1
        /// libarchive cannot be loaded, or was built without the format.
        case unavailable
        /// The memory of the helper is exhausted, or a header is too long.
        case limit
    }

    /// The version of the protocol.
    package static let version: Int64 = 1
    /// The length of a frame without its payload, in bytes.
    package static let byteCount = 32
    /// The maximum length of a payload, in bytes: names, and a text of libarchive.
    package static let maximumPayloadByteCount = 256 * 1024

    package var kind: Kind
    package var a: Int64 = 0
    package var b: Int64 = 0
    package var c: Int64 = 0
    package var payload: [UInt8] = []

    package init(_ kind: Kind, a: Int64 = 0, b: Int64 = 0, c: Int64 = 0, payload: [UInt8] = []) {
        (self.kind, self.a, self.b, self.c, self.payload) = (kind, a, b, c, payload)
    }

    /// Reads a frame without its payload; nil when its kind or the length of its payload is not allowed.
    init?(_ bytes: UnsafeRawBufferPointer, payloadByteCount: inout Int) {
        guard bytes.count >= Self.byteCount, let kind = Kind(rawValue: bytes.load(as: UInt32.self)) else { return nil }
        payloadByteCount = Int(bytes.load(fromByteOffset: 4, as: UInt32.self))
        guard payloadByteCount <= Self.maximumPayloadByteCount else { return nil }
        self.kind = kind
        self.a = bytes.load(fromByteOffset: 8, as: Int64.self)
        self.b = bytes.load(fromByteOffset: 16, as: Int64.self)
        self.c = bytes.load(fromByteOffset: 24, as: Int64.self)
    }

    /// Writes a frame and its payload to a buffer with room for them; returns the number of bytes.
    func write(to bytes: UnsafeMutableRawBufferPointer) -> Int {
        bytes.storeBytes(of: self.kind.rawValue, as: UInt32.self)
        bytes.storeBytes(of: UInt32(self.payload.count), toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: self.a, toByteOffset: 8, as: Int64.self)
        bytes.storeBytes(of: self.b, toByteOffset: 16, as: Int64.self)
        bytes.storeBytes(of: self.c, toByteOffset: 24, as: Int64.self)
        UnsafeMutableRawBufferPointer(rebasing: bytes[Self.byteCount...]).copyBytes(from: self.payload)
        return Self.byteCount + self.payload.count
    }
}
