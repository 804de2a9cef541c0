import BlobIndex
import BlobStreams
import Testing

@Suite struct IndexRecordTests {
    @Test func whatIsWrittenIsReadAgain() throws {
        let numbers: [UInt64] = [0, 1, 127, 128, 300, 1 << 32, 1 << 63, .max]
        var writer = IndexWriter()
        for number in numbers { writer.append(varint: number) }
        writer.append(fixed: Int64(-2))
        writer.append(fixed: UInt16(0x0102))
        writer.append(counted: [7, 8, 9])
        var reader = IndexReader(writer.bytes)
        for number in numbers { #expect(try reader.readVarint() == number) }
        #expect(try reader.readFixed(Int64.self) == -2)
        #expect(try reader.readFixed(UInt16.self) == 0x0102)
        #expect(try reader.readCountedBytes(atMost: 3) == [7, 8, 9])
        #expect(reader.isAtEnd)
    }

    @Test func theLowestByteIsFirst() {
        var writer = IndexWriter()
        writer.append(fixed: UInt32(0x0102_0304))
        writer.append(varint: 300)
        #expect(writer.bytes == [4, 3, 2, 1, 0xAC, 2])
    }

    @Test(
        arguments: [
            [], [0x80], [0x80, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2],
            [UInt8](repeating: 0x80, count: 11), [UInt8](repeating: 0xFF, count: 20),
        ] as [[UInt8]])
    func aBadVarintIsCorrupted(_ bytes: [UInt8]) {
        var reader = IndexReader(bytes)
        #expect((#expect(throws: BlobError.self) { try reader.readVarint() })?.code == .corrupted)
    }

    @Test func aLengthPastItsLimitOrTheEndIsCorrupted() {
        var writer = IndexWriter()
        writer.append(varint: .max)
        var reader = IndexReader(writer.bytes)
        #expect((#expect(throws: BlobError.self) { try reader.count() })?.code == .corrupted)
        reader = IndexReader([4, 1, 2, 3])
        #expect((#expect(throws: BlobError.self) { try reader.readCountedBytes(atMost: 3) })?.code == .corrupted)
        reader = IndexReader([4, 1, 2, 3])
        #expect((#expect(throws: BlobError.self) { try reader.readCountedBytes(atMost: 4) })?.code == .corrupted)
        #expect((#expect(throws: BlobError.self) { try IndexReader([1, 2], 1..<3) })?.code == .corrupted)
    }

    @Test func aPartEndsWhereItIsSaidTo() throws {
        var reader = try IndexReader([1, 2, 3, 4], 1..<3)
        #expect(try reader.readFixed(UInt16.self) == 0x0302)
        #expect(reader.isAtEnd)
        #expect(reader.byteOffset == 3)
        #expect((#expect(throws: BlobError.self) { try reader.readFixed(UInt8.self) })?.code == .corrupted)
    }
}
