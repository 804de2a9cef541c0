import BlobDeflate
import BlobStreams
import Foundation
import Testing

@Suite struct InflaterTests {
    // printf 'hello' | gzip -n, without header and trailer.
    private let hello: [UInt8] = [0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0]

    /// Feeds `input` in pieces; the decoded bytes, how much was left over, and whether the end came.
    private func decode(
        _ inflater: inout Inflater, _ input: [UInt8], inputPiece: Int, outputPiece: Int
    ) throws(BlobError) -> (bytes: [UInt8], restByteCount: Int, isAtEnd: Bool) {
        var (bytes, used) = ([UInt8](), 0)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: outputPiece, alignment: 1)
        let source = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
        source.copyBytes(from: input)
        defer {
            memory.deallocate()
            source.deallocate()
        }
        while true {
            var rest = UnsafeRawBufferPointer(rebasing: source[used..<min(input.count, used + inputPiece)])
            let given = rest.count
            var output = OutputRawSpan(buffer: memory, initializedCount: 0)
            let isAtEnd = try inflater.decode(&rest, into: &output)
            used += given - rest.count
            let count = output.finalize(for: memory)
            bytes += memory.prefix(count)
            if isAtEnd { return (bytes, input.count - used, true) }
            if count == 0, used == input.count { return (bytes, 0, false) }
        }
    }

    @Test func piecesOfAnySizeGiveTheSame() throws {
        for inputPiece in [1, 2, 100] {
            for outputPiece in [1, 3, 100] {
                var inflater = try Inflater()
                let decoded = try self.decode(
                    &inflater, self.hello, inputPiece: inputPiece, outputPiece: outputPiece)
                #expect(decoded.bytes == Array("hello".utf8) && decoded.isAtEnd)
            }
        }
    }

    /// Blocks with fixed codes: a match of 107 bytes at a distance of 181, before any byte; and one whose distance has
    /// the code 30, which no distance has.
    private static let invalidMatches: [[UInt8]] = [
        [UInt8](repeating: 0xA3, count: 19),
        [
            0xA3, 0xFF, 0xFF, 0xFF, 0xFF, 0xA3, 0x3D, 0xA3, 0, 0, 0, 0, 0x3C, 0, 0x40, 0xFF, 0xFC, 0, 0xFF, 0xFF, 0xFF,
            0x11, 0xA3,
        ],
    ]

    /// ISA-L counts the bytes of an invalid match as decoded, without writing them.
    @Test(arguments: Self.invalidMatches, [1, 10, 100, 4096])
    func anInvalidMatchGivesNoBytes(input: [UInt8], outputPiece: Int) throws {
        var inflater = try Inflater()
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: outputPiece, alignment: 1)
        defer { memory.deallocate() }
        var output = OutputRawSpan(buffer: memory, initializedCount: 0)
        let error = #expect(throws: BlobError.self) {
            try input.withUnsafeBytes { input in
                var input = input
                while true { _ = try inflater.decode(&input, into: &output) }
            }
        }
        #expect(error?.code == .corrupted)
        #expect(output.finalize(for: memory) == 0)
    }

    @Test func whatFollowsTheEndIsLeft() throws {
        for inputPiece in [1, 100] {
            var inflater = try Inflater()
            let decoded = try self.decode(
                &inflater, self.hello + [1, 2, 3, 4, 5, 6, 7, 8, 9], inputPiece: inputPiece, outputPiece: 100)
            #expect(decoded.restByteCount == 9)
        }
    }

    @Test func aResetInflaterDecodesAnotherStream() throws {
        var inflater = try Inflater()
        for _ in 0..<3 {
            let decoded = try self.decode(&inflater, self.hello, inputPiece: 100, outputPiece: 100)
            #expect(decoded.bytes == Array("hello".utf8))
            inflater.reset()
        }
    }

    @Test func anEarlyEndIsNoEnd() throws {
        for count in 0..<self.hello.count {
            var inflater = try Inflater()
            let decoded = try self.decode(
                &inflater, Array(self.hello.prefix(count)), inputPiece: 100, outputPiece: 100)
            #expect(!decoded.isAtEnd && Array("hello".utf8).starts(with: decoded.bytes))
        }
    }

    @Test func invalidDataAreCorrupted() throws {
        var inflater = try Inflater()
        let code: BlobError.Code?
        do throws(BlobError) {
            _ = try self.decode(&inflater, [0x07, 0, 0], inputPiece: 100, outputPiece: 100)
            code = nil
        } catch {
            code = error.code
        }
        #expect(code == .corrupted)
    }

    @Test func checksumsAreThoseOfTheStandards() {
        // The check values of "123456789" in the catalogue of parametrised CRC algorithms; RFC 1950 for Adler-32.
        var (crc, adler) = (CRC32(), Adler32())
        for piece in ["", "1234", "", "56789"] {
            Array(piece.utf8).withUnsafeBytes { bytes in
                crc.update(bytes)
                adler.update(bytes)
            }
        }
        #expect(crc.value == 0xCBF4_3926)
        #expect(adler.value == 0x091E_01DE)
        #expect(CRC32().value == 0 && Adler32().value == 1)
    }
}
