import BlobStreams
import CryptoDigest
import Foundation
import Testing

@Suite struct CryptoDigestTests {
    private struct Vectors {
        let digest: CryptoDigest
        /// Message and digest: the examples of FIPS 180-4 (NIST) and of RFC 1321, appendix A.5.
        let messages: [(String, String)]
        /// The digest of a million times the letter a.
        let million: String
    }

    private static let twoBlocksOf64 = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    private static let twoBlocksOf128 =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
        + "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"

    private static let vectors = [
        Vectors(
            digest: .sha256,
            messages: [
                ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
                ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
                (twoBlocksOf64, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
            ], million: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        Vectors(
            digest: .sha384,
            messages: [
                (
                    "",
                    "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da"
                        + "274edebfe76f65fbd51ad2f14898b95b"
                ),
                (
                    "abc",
                    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                        + "8086072ba1e7cc2358baeca134c825a7"
                ),
                (
                    twoBlocksOf128,
                    "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712"
                        + "fcc7c71a557e2db966c3e9fa91746039"
                ),
            ],
            million: "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b"
                + "07b8b3dc38ecc4ebae97ddd87f3d8985"),
        Vectors(
            digest: .sha512,
            messages: [
                (
                    "",
                    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
                ),
                (
                    "abc",
                    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
                ),
                (
                    twoBlocksOf128,
                    "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
                        + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
                ),
            ],
            million: "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"),
        Vectors(
            digest: .sha1,
            messages: [
                ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
                ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
                (twoBlocksOf64, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
            ], million: "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        Vectors(
            digest: .md5,
            messages: [
                ("", "d41d8cd98f00b204e9800998ecf8427e"),
                ("a", "0cc175b9c0f1b6a831c399e269772661"),
                ("abc", "900150983cd24fb0d6963f7d28e17f72"),
                ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
                ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
                (
                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                    "d174ab98d277d9f5a5611c2c9f419d9f"
                ),
                (
                    "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                    "57edf4a22be3c955ac49da2e2107b67a"
                ),
            ], million: "7707d6ae4e027c70eea2a935c2296f21"),
    ]

    @Test func everyAlgorithmHasItsNameAndVectors() {
        #expect(CryptoDigest.all.map(\.name) == ["sha256", "sha384", "sha512", "sha1", "md5"])
        #expect(Self.vectors.map(\.digest.name) == CryptoDigest.all.map(\.name))
    }

    @Test func publishedVectorsComeOutWhateverThePieces() throws {
        for vectors in Self.vectors {
            for (message, expected) in vectors.messages {
                for pieceByteCount in [1, 3, 64, 4096] {
                    let found = try digest(vectors.digest, of: Array(message.utf8), inPiecesOf: pieceByteCount)
                    #expect(found == expected, "\(vectors.digest.name) of '\(message)'")
                }
            }
            let million = Array(repeating: UInt8(ascii: "a"), count: 1_000_000)
            #expect(try digest(vectors.digest, of: million, inPiecesOf: 8192) == vectors.million)
        }
    }

    @Test func theRightDigestIsPassedAndAWrongOneIsNoEnd() throws {
        for vectors in Self.vectors {
            let message = MemorySource(Array("abc".utf8))
            let right = try #require(vectors.messages.first { $0.0 == "abc" }).1
            let expected = try #require(bytes(ofHexadecimal: right))
            let checked = message.hashing(with: vectors.digest, expected: expected)
            #expect(try checked.data(upTo: 3) == Data("abc".utf8))

            for index in expected.indices {
                var wrong = expected
                wrong[index] ^= 1
                let reader = try message.hashing(with: vectors.digest, expected: wrong).open()
                let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 1)
                defer { memory.deallocate() }
                #expect(try reader.readBlocking(into: memory) == 3)
                let error = try #require(throws: BlobError.self) { try reader.readBlocking(into: memory) }
                #expect(error.code == .checksumMismatch)
                #expect(error.message.contains(right))
                #expect(error.message.contains(wrong.hexadecimal))
                #expect(error.message.contains(vectors.digest.name))
                #expect(throws: error) { try reader.readBlocking(into: memory) }
            }
        }
    }

    @Test func aDigestOfAnotherLengthIsAMismatch() throws {
        for expected in [[], [0xE3], Array(repeating: UInt8(0), count: 33)] {
            let source = MemorySource([]).hashing(with: CryptoDigest.sha256, expected: expected)
            let error = try #require(throws: BlobError.self) { try source.data(upTo: 1) }
            #expect(error.code == .checksumMismatch)
        }
    }

    @Test func aReaderAtAnOffsetChecksTheWholeBlob() throws {
        let message = MemorySource(Array("abc".utf8))
        let right = try #require(
            bytes(ofHexadecimal: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        for byteOffset: Int64 in 0...3 {
            let checked = message.hashing(with: CryptoDigest.sha256, expected: right)
            let rest = try checked.slice(byteOffset...).data(upTo: 3)
            #expect(rest == Data("abc".utf8.dropFirst(Int(byteOffset))))
            let wrong = message.hashing(with: CryptoDigest.sha256, expected: Array(right.reversed()))
            let error = try #require(throws: BlobError.self) {
                try wrong.slice(byteOffset...).data(upTo: 3)
            }
            #expect(error.code == .checksumMismatch)
        }
        #expect(throws: BlobError.self) { try message.hashing(with: CryptoDigest.md5).open(at: 4) }
    }

    @Test func everyPassHasADigestOfItsOwn() throws {
        let digests = Locked<[String]>([])
        let source = MemorySource(Array("abc".utf8)).hashing(with: CryptoDigest.md5) { found in
            digests.withLock { $0.append(found.hexadecimal) }
        }
        _ = try source.data(upTo: 3)
        _ = try source.data(upTo: 3)
        let unfinished = try source.open()
        unfinished.close()
        #expect(digests.withLock { $0 } == Array(repeating: "900150983cd24fb0d6963f7d28e17f72", count: 2))
    }
}

/// The digest as hexadecimal digits, through a layer.
private func digest(_ digest: CryptoDigest, of message: [UInt8], inPiecesOf byteCount: Int) throws -> String? {
    let found = Locked<String?>(nil)
    let source = MemorySource(message).hashing(with: digest) { bytes in
        found.withLock { $0 = bytes.hexadecimal }
    }
    let reader = try source.open()
    defer { reader.close() }
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
    defer { memory.deallocate() }
    while try reader.readBlocking(into: memory) > 0 {}
    return found.withLock { $0 }
}

private func bytes(ofHexadecimal text: String) -> [UInt8]? {
    let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
