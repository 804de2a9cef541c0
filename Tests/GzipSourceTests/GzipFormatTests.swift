import BlobStreams
import Foundation
import GzipSource
import Testing

/// What RFC 1950, 1951 and 1952 allow is read, and what they do not is refused with the place.
@Suite struct GzipFormatTests {
    private let bytes = sampleBytes(5000)

    @Test func aFileOfTheGzipCommandIsRead() {
        // printf 'hello' | gzip -n
        let file = Data([
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ])
        #expect(outcome(decoding: file).bytes == Data("hello".utf8))
        #expect(outcome(decoding: file).isWhole)
    }

    @Test(arguments: GzipSource.Format.allCases, [0, 1, 6, 9] as [CInt])
    func everyLevelOfEveryFormatIsDecoded(_ format: GzipSource.Format, level: CInt) {
        for count in [0, 1, 2, 1000, 100_000] {
            let bytes = sampleBytes(count)
            for pieceByteCount in [1, 4096, 1 << 20] where count < 10_000 || pieceByteCount > 1 {
                let outcome = outcome(
                    decoding: compressed(bytes, format, level: level), format, pieceByteCount: pieceByteCount)
                #expect(outcome.bytes == bytes && outcome.isWhole)
            }
        }
    }

    @Test func everyFieldOfTheHeaderIsPassedOver() {
        let extras: [Data?] = [nil, Data(), Data([1, 2, 3]), Data(repeating: 7, count: 65_535)]
        for extra in extras {
            for name in [nil, "", "a name"] {
                for comment in [nil, "", "a comment"] {
                    for hasHeaderChecksum in [false, true] {
                        let member = GzipMember(
                            bytes: self.bytes, extra: extra, name: name, comment: comment,
                            hasHeaderChecksum: hasHeaderChecksum)
                        let outcome = outcome(decoding: member.encoded)
                        #expect(outcome.bytes == self.bytes && outcome.isWhole, "\(member)")
                    }
                }
            }
        }
    }

    @Test func fieldsOf64KiBAreTheLimit() {
        let longest = String(repeating: "x", count: 65_536)
        #expect(outcome(decoding: GzipMember(name: longest, comment: longest).encoded).isWhole)
        let name = outcome(decoding: GzipMember(name: longest + "x").encoded)
        #expect(name.error?.code == .limitExceeded && name.error?.message.contains("65536") == true)
        let comment = outcome(decoding: GzipMember(comment: longest + "x").encoded)
        #expect(comment.error?.code == .limitExceeded && comment.error?.byteOffset == 10 + 65_536)
    }

    @Test func allMembersAreReadInOrderTheEmptyOnesToo() {
        let parts = [Data(), Data("one".utf8), Data(), Data(), self.bytes, Data("last".utf8), Data()]
        let file = parts.enumerated().reduce(Data()) {
            $0 + GzipMember(bytes: $1.element, level: CInt($1.offset), name: "part").encoded
        }
        let outcome = outcome(decoding: file)
        #expect(outcome.bytes == parts.reduce(Data(), +) && outcome.isWhole)
    }

    @Test func reservedFlagsAreRefused() {
        for flag in [0x20, 0x40, 0x80] as [UInt8] {
            let outcome = outcome(decoding: GzipMember(bytes: self.bytes, flags: flag).encoded)
            #expect(outcome.error?.code == .unsupported && outcome.error?.byteOffset == 3 && outcome.bytes.isEmpty)
        }
    }

    @Test func aWrongChecksumOfTheHeaderIsAMismatch() {
        var file = GzipMember(bytes: self.bytes, name: "name", hasHeaderChecksum: true).encoded
        file[4] ^= 1
        let outcome = outcome(decoding: file)
        #expect(outcome.error?.code == .checksumMismatch && outcome.bytes.isEmpty)
    }

    @Test func aWrongChecksumIsAMismatchAfterTheBytes() {
        let member = GzipMember(bytes: self.bytes, checksum: 0xBEEF)
        let outcome = outcome(decoding: member.encoded + gzipped(self.bytes))
        #expect(outcome.bytes == self.bytes)
        #expect(outcome.error?.code == .checksumMismatch)
        #expect(outcome.error?.byteOffset == Int64(member.encoded.count - 8))
        #expect(outcome.error?.message.contains("the trailer says 0x0000beef") == true)
    }

    @Test func aWrongLengthIsAMismatchAfterTheBytes() {
        let member = GzipMember(bytes: self.bytes, byteCount: 4999)
        let outcome = outcome(decoding: member.encoded)
        #expect(outcome.bytes == self.bytes)
        #expect(outcome.error?.code == .sizeMismatch)
        #expect(outcome.error?.byteOffset == Int64(member.encoded.count - 4))
        #expect(outcome.error?.message.contains("has 5000 bytes, but the trailer says 4999") == true)
    }

    @Test func aWrongChecksumOfZlibIsAMismatchAfterTheBytes() {
        var file = zlibbed(self.bytes)
        file[file.count - 1] ^= 1
        let outcome = outcome(decoding: file, .zlib)
        #expect(outcome.bytes == self.bytes)
        #expect(outcome.error?.code == .checksumMismatch && outcome.error?.byteOffset == Int64(file.count - 4))
    }

    @Test func zeroBytesMayFollowTheLastMember() {
        for count in [1, 511, 100_000] {
            let outcome = outcome(decoding: gzipped(self.bytes) + Data(count: count))
            #expect(outcome.bytes == self.bytes && outcome.isWhole)
        }
    }

    @Test func anythingElseBehindTheEndIsTrailingDataAfterTheGoodBytes() {
        let file = gzipped(self.bytes)
        let end = Int64(file.count)
        let trailers: [(Data, Int64)] = [
            (Data("x".utf8), end), (Data([0x1F, 0]), end), (Data([0, 0, 1]), end + 2), (Data([0]) + file, end + 1),
        ]
        for (trailer, byteOffset) in trailers {
            let outcome = outcome(decoding: file + trailer)
            #expect(outcome.bytes == self.bytes)
            #expect(outcome.error?.code == .trailingData && outcome.error?.byteOffset == byteOffset)
        }
        for format in [GzipSource.Format.zlib, .deflate] {
            for trailer in [Data([0]), Data("x".utf8)] {
                let file = compressed(self.bytes, format)
                let outcome = outcome(decoding: file + trailer, format)
                #expect(outcome.bytes == self.bytes)
                #expect(outcome.error?.code == .trailingData && outcome.error?.byteOffset == Int64(file.count))
            }
        }
    }

    @Test func theBeginningOfAMemberBehindTheEndIsTruncated() {
        let outcome = outcome(decoding: gzipped(self.bytes) + [0x1F])
        #expect(outcome.bytes == self.bytes && outcome.error?.code == .truncated)
    }

    @Test(arguments: GzipSource.Format.allCases) func noBytesAreTruncated(_ format: GzipSource.Format) {
        let outcome = outcome(decoding: Data(), format)
        #expect(outcome.error?.code == .truncated && outcome.error?.byteOffset == 0)
    }

    @Test func otherFormatsAreUnsupported() {
        for beginning in [[0x50, 0x4B, 3, 4], [0x1F, 0x9D, 0x90], [0x1F, 0x8B, 7, 0]] as [[UInt8]] {
            #expect(outcome(decoding: Data(beginning) + self.bytes).error?.code == .unsupported)
        }
        for beginning in [[0x79, 0x9C], [0x88, 0x1C], [0x78, 0x9D], [0x78, 0xBB]] as [[UInt8]] {
            #expect(outcome(decoding: Data(beginning) + self.bytes, .zlib).error?.code == .unsupported)
        }
    }

    @Test func invalidDataAreCorruptedWithTheReasonAndThePlace() {
        let outcome = outcome(decoding: Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x07]) + self.bytes)
        #expect(outcome.error?.code == .corrupted && outcome.error?.byteOffset == 11)
        #expect(outcome.error?.message.contains("invalid block") == true)
    }
}
