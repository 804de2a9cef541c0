import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Encrypted members of zips, which other people's tools made.
@Suite struct EncryptedZipTests {
    @Test(arguments: Fixture.members.indices)
    func aMemberIsReadWithItsPassword(number: Int) async throws {
        let (file, password, names) = Fixture.members[number]
        let bytes = try Fixture.bytes(file)
        try await onThread {
            for name in names {
                let expected = try #require(Fixture.contents[name])
                for base in [MemorySource(bytes) as any BlobInputStreamDataSource, SequentialSource(bytes)] {
                    let archive = ArchiveContainer(base, format: .zip)
                    let data = try archive.data(.name(name), password: password)
                    #expect(data == expected, "\(file) \(name)")
                }
                // Past the buffers of decoders and scanners.
                for byteOffset in [1, 739, 65_537, expected.count] where byteOffset <= expected.count {
                    let rest = try zip(bytes).data(.name(name), password: password, at: Int64(byteOffset))
                    #expect(rest == expected.dropFirst(byteOffset), "\(file) \(name)")
                }
                let error = zip(bytes).failure(.name(name), BlobContext())
                #expect(error?.code == .encrypted && error?.remedy == .password, "\(file) \(name)")
            }
        }
    }

    @Test(arguments: [("infozip-pipe.zip", "long"), ("infozip-pipe-stored.zip", "short")])
    func aMemberFromAPipeIsReadWithItsPassword(file: String, content: String) async throws {
        // Its check is of its time, as the checksum comes behind the bytes.
        let bytes = try Fixture.bytes(file)
        let data = try await onThread { try zip(bytes).data(.index(0), password: "secret") }
        #expect(data == Fixture.contents[content])
    }

    @Test func membersLargerThanEveryBufferAreRead() async throws {
        let expected = try await Made.archive("many")
        for file in ["zipcrypto-many.zip", "aes-many.zip"] {
            guard let bytes = try await Made.optional(file) else { continue }
            #expect(try await onThread { try zip(bytes).data(.index(0), password: "secret") } == expected, "\(file)")
        }
    }

    @Test func listingAndDescribingNeedNoPassword() async throws {
        for (file, version) in [("pyzipper-ae1.zip", 1), ("pyzipper-ae2.zip", 2)] {
            let bytes = try Fixture.bytes(file)
            let members = try await zip(bytes).members()
            #expect(members.map(\.isEncrypted) == [true, true, true])
            // AE-2 leaves out the checksums, which tell much about short members.
            #expect(members[0].checksum == (version == 1 ? "crc32:1927372e" : nil))
            let source = try zip(bytes).member(.name("long"), context: BlobContext())
            let (info, facts) = try await onThread {
                (try source.info(), try (source as? any BlobDescribing)?.facts(BlobContext()).map { "\($0)" })
            }
            #expect(info.byteCount == 70_000)
            #expect(info.isRandomAccess == false)
            #expect(facts?.contains { $0.contains("AES-256, AE-\(version)") } == true)
        }
    }

    @Test func aPasswordThatIsMissingOrImpossibleIsSaid() async throws {
        let bytes = try Fixture.bytes("7zip-aes128.zip")
        for (password, text) in [(nil, "no password"), ("", "must not be empty"), ("secret\0x", "a zero")] {
            let error = zip(bytes).failure(.name("short"), BlobContext(password: password))
            #expect(error?.code == .encrypted)
            #expect(error?.message.contains(text) == true, "\(String(describing: error))")
        }
        struct Refusal: Error {}
        var context = BlobContext()
        context.password = { _ in throw Refusal() }
        #expect(zip(bytes).failure(.name("short"), context)?.cause is Refusal)
    }

    @Test(arguments: ["7zip-aes128.zip", "7zip-aes192.zip", "7zip-aes256-stored.zip", "7zip-bzip2.zip"])
    func aWrongPasswordOfAESIsFoundBeforeAnyByte(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        let source = try zip(bytes).member(.name("short"), context: BlobContext())
        let error = await errorThrown {
            try await onThread { try source.open(context: BlobContext(password: "Secret")).close() }
        }
        #expect(error?.code == .encrypted)
        #expect(error?.message.contains("the password is wrong") == true)
        #expect(error.map { "\($0)".contains("Secret") } == false)
    }

    @Test(arguments: ["infozip.zip", "infozip-stored.zip", "7zip-zipcrypto.zip"])
    func aWrongPasswordThatPassesTheCheckOfOneByteIsSaidToBePossible(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        let errors = try await onThread {
            (0..<1000).map { zip(bytes).failure(.name("short"), BlobContext(password: "wrong \($0)")) }
        }
        let passed = errors.filter { $0?.code != .encrypted }
        #expect((1..<20).contains(passed.count), "\(passed.count)")
        for error in passed {
            #expect(error?.message.contains("password may be wrong") == true, "\(String(describing: error))")
        }
    }

    @Test func membersHavePasswordsOfTheirOwn() async throws {
        let bytes = try Fixture.bytes("pyzipper-several.zip")
        try await onThread {
            let short = try zip(bytes).data(.name("short"), password: "one")
            let long = try zip(bytes).data(.name("long"), password: "two")
            #expect(short == Fixture.short && long == Made.long)
            #expect(zip(bytes).failure(.name("long"), BlobContext(password: "one"))?.code == .encrypted)
        }
    }

    @Test func strongEncryptionIsNotSupported() async throws {
        var bytes = try Fixture.bytes("infozip-utf8.zip")
        let entry = try #require(bytes.range(of: Data([0x50, 0x4B, 1, 2]))).lowerBound
        for (place, flag) in [(6, UInt8(1 << 6)), (7, 1 << 5)] {
            (bytes[place], bytes[entry + place + 2]) = (bytes[place] ^ flag, bytes[entry + place + 2] ^ flag)
            let error = zip(bytes).failure(.index(0), BlobContext(password: "pässwörd€"))
            #expect(error?.code == .encrypted)
            #expect(error?.message.contains("not supported") == true)
            #expect(try await zip(bytes).members().map(\.isEncrypted) == [true])
            (bytes[place], bytes[entry + place + 2]) = (bytes[place] ^ flag, bytes[entry + place + 2] ^ flag)
        }
    }

    @Test func anEncryptedDirectoryIsNotSupported() async {
        // The record of zip64 in version 6.2: its length, versions, then its numbers, compression and algorithm.
        var record = Data([0x50, 0x4B, 6, 6, 76] + Array(repeating: 0, count: 7) + [64, 0, 62, 0])
        record += Data(count: 74 - record.count) + [0x10, 0x66] + Data(count: 12)
        let locator = Data([0x50, 0x4B, 6, 7] + Array(repeating: 0, count: 12) + [1, 0, 0, 0])
        let bytes = record + locator + [0x50, 0x4B, 5, 6] + Data(count: 18)
        #expect(await asyncCodeThrown { try await zip(bytes).members() } == .encrypted)
    }

    @Test(arguments: ["infozip.zip", "7zip-aes128.zip", "pyzipper-ae1.zip", "pyzipper-ae2.zip"])
    func encryptedMembersKeepEveryContract(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        let password = file.hasPrefix("pyzipper") ? "pässwörd€" : "secret"
        for (name, expected) in Fixture.contents {
            expectNone(
                await violations(
                    of: PasswordSource(
                        base: try zip(bytes).member(.name(name), context: BlobContext()), password: password),
                    expecting: expected))
        }
    }
}

/// A source that is read with a password, whatever the context has.
private struct PasswordSource: BlobLayer {
    let base: any BlobInputStreamDataSource
    let password: String

    var underlying: any BlobInputStreamDataSource { self.base }
    var traits: BlobTraits { self.base.traits }
    var locator: BlobLocator? { self.base.locator }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.describe(self.changed(context)) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let context = self.changed(opening.context)
        return try self.base.makeBody(
            BlobOpening(at: opening.byteOffset, matching: opening.validator, context: context))
    }

    private func changed(_ context: BlobContext) -> BlobContext {
        var context = context
        context.password = { [password] _ in password }
        return context
    }
}
