import BlobStreamsStandard
import BlobTestSupport
import Foundation

/// Bytes, and what they are packed into.
struct RandomContent: Sendable {
    /// The form in which a source has the bytes.
    enum Form: CaseIterable, Sendable {
        case plain, gzip, deflatedMember, storedMember
    }

    let bytes: Data
    private let forms: [Form: Data]

    init(_ bytes: Data) throws {
        self.bytes = bytes
        let packed = Data(try readAll(GzipEncodedSource(MemorySource(bytes)).open()))
        // RFC 1952: a header of ten bytes, as there is no name, and a trailer of eight.
        let deflated = packed.dropFirst(10).dropLast(8)
        let checksum = packed.suffix(8).prefix(4)
        self.forms = [
            .plain: bytes, .gzip: packed,
            .deflatedMember: Self.zip(bytes.count, checksum, method: 8, Data(deflated)),
            .storedMember: Self.zip(bytes.count, checksum, method: 0, bytes),
        ]
    }

    /// The bytes in a form.
    func packed(_ form: Form) -> Data { self.forms[form] ?? Data() }

    /// Returns the source of the bytes in a source of their form.
    static func unpacked(
        _ form: Form, _ base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> any BlobInputStreamDataSource {
        switch form {
        case .plain: base
        case .gzip: GzipSource(base)
        case .deflatedMember, .storedMember:
            try ArchiveContainer(base, format: .zip).member(.name(Array("m".utf8)), context: context)
        }
    }

    /// A zip with one member, m (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16).
    private static func zip(_ byteCount: Int, _ checksum: Data, method: UInt8, _ data: Data) -> Data {
        func number(_ value: Int) -> Data { withUnsafeBytes(of: UInt32(value).littleEndian) { Data($0) } }
        let facts = Data([20, 0, 0, 0, method, 0, 0, 0, 0, 0]) + checksum + number(data.count) + number(byteCount)
        let local = Data([0x50, 0x4B, 3, 4]) + facts + Data([1, 0, 0, 0, UInt8(ascii: "m")])
        let central =
            Data([0x50, 0x4B, 1, 2, 20, 3]) + facts + Data([1, 0]) + Data(count: 12) + number(0)
            + Data([UInt8(ascii: "m")])
        let end =
            Data([0x50, 0x4B, 5, 6, 0, 0, 0, 0, 1, 0, 1, 0]) + number(central.count) + number(local.count + data.count)
            + Data(count: 2)
        return local + data + central + end
    }
}
