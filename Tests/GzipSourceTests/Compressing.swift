import CZlib
import Foundation
import GzipSource

/// Bytes as zlib compresses them, in its own format.
///
/// - Parameter level: 0, stored, to 9.
func zlibbed(_ bytes: Data, level: CInt = 6) -> Data {
    var byteCount = compressBound(uLong(bytes.count))
    var compressed = [UInt8](repeating: 0, count: Int(byteCount))
    let status = Array(bytes).withUnsafeBufferPointer { bytes in
        compress2(&compressed, &byteCount, bytes.baseAddress ?? UnsafePointer(bitPattern: 1), uLong(bytes.count), level)
    }
    precondition(status == Z_OK)
    return Data(compressed.prefix(Int(byteCount)))
}

/// Raw deflate data: zlib's without their header of two bytes and their trailer of four.
func deflated(_ bytes: Data, level: CInt = 6) -> Data { zlibbed(bytes, level: level).dropFirst(2).dropLast(4) }

/// A gzip member, made by hand as RFC 1952 says.
struct GzipMember {
    var bytes = Data()
    var level: CInt = 6
    var flags: UInt8?
    var extra: Data?
    var name: String?
    var comment: String?
    var hasHeaderChecksum = false
    var checksum: UInt32?
    var byteCount: UInt32?

    var encoded: Data {
        var header = Data([0x1F, 0x8B, 8, self.flags ?? self.impliedFlags, 1, 2, 3, 4, 0, 3])
        if let extra { header += extra.count.littleEndian(2) + extra }
        if let name { header += Data(name.utf8) + [0] }
        if let comment { header += Data(comment.utf8) + [0] }
        if self.hasHeaderChecksum { header += Int(crc(header) & 0xFFFF).littleEndian(2) }
        return header + deflated(self.bytes, level: self.level)
            + Int(self.checksum ?? crc(self.bytes)).littleEndian(4)
            + Int(self.byteCount ?? UInt32(truncatingIfNeeded: self.bytes.count)).littleEndian(4)
    }

    private var impliedFlags: UInt8 {
        (self.hasHeaderChecksum ? 2 : 0) | (self.extra == nil ? 0 : 4) | (self.name == nil ? 0 : 8)
            | (self.comment == nil ? 0 : 16)
    }
}

func gzipped(_ bytes: Data, level: CInt = 6) -> Data { GzipMember(bytes: bytes, level: level).encoded }

/// Bytes in one of the formats.
func compressed(_ bytes: Data, _ format: GzipSource.Format, level: CInt = 6) -> Data {
    switch format {
    case .gzip: gzipped(bytes, level: level)
    case .zlib: zlibbed(bytes, level: level)
    case .deflate: deflated(bytes, level: level)
    }
}

private func crc(_ bytes: Data) -> UInt32 {
    UInt32(truncatingIfNeeded: Array(bytes).withUnsafeBufferPointer { crc32_z(0, $0.baseAddress, $0.count) })
}

extension Int {
    func littleEndian(_ byteCount: Int) -> Data {
        Data((0..<byteCount).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) })
    }
}

/// Bytes that compress about as text does, the same in every run for the same seed.
func sampleBytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15
    var bytes = Data(capacity: count)
    while bytes.count < count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let (kind, value) = (state >> 62, Int(state >> 40 & 0xFFFF))
        if kind == 0 || bytes.isEmpty {
            bytes.append(UInt8(truncatingIfNeeded: value))
        } else {
            let start = bytes.count - 1 - value % bytes.count
            bytes.append(contentsOf: Array(bytes[start..<min(bytes.count, start + 3 + Int(kind) * 5)]))
        }
    }
    return bytes.prefix(count)
}
