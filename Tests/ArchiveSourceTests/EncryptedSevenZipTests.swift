import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import ArchiveSource

/// Passwords of 7z. Fixtures/README.md tells how the archives were made.
@Suite struct EncryptedSevenZipTests {
    static let first = Data(repeatElement("the first text", count: 3).joined(separator: ", ").utf8 + [10])
    static let second = Data("the second text\n".utf8)
    static let numbers = Data((1...30_000).map { "\($0)\n" }.joined().utf8)
    private static let names = ["a.txt", "b.txt", "empty", "numbers", "long", "code", "many"]
    private static let archives = [
        "aes-solid.7z", "aes-folders.7z", "aes-copy.7z", "aes-header.7z", "aes-plain-header.7z", "aes-bcj.7z",
        "aes-bcj2.7z", "aes-ppmd.7z", "aes-ppmd-large.7z", "aes-bzip2.7z", "aes-link.7z", "aes-py7zr.7z",
        "aes-py7zr-header.7z", "aes-copy-long.7z",
    ]

    static func content(_ name: String) throws -> Data {
        switch name {
        case "a.txt": Self.first
        case "b.txt": Self.second
        case "empty": Data()
        case "numbers": Self.numbers
        // Longer than the blocks in which libarchive copies.
        case "long": Self.numbers.prefix(70_000)
        case "many": Data(repeatElement("some text\n", count: 20_000).joined().utf8)
        // Calls of x86, which the filters change; not encrypted there.
        default: try Self.read(Self.open(Fixture.bytes("solid.7z")), .name(Array(name.utf8)), BlobContext())
        }
    }

    private static func open(_ bytes: Data) -> BlobArchive { BlobArchive(MemorySource(bytes), format: .sevenzip) }

    private static func read(
        _ archive: BlobArchive, _ selector: BlobLocator.Selector, _ context: BlobContext
    ) throws -> Data {
        try archive.source(selector, context).data(upTo: 1 << 20, context: context)
    }

    @Test(arguments: archives)
    func everyMemberComesOutRightWithItsPassword(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        try await onThread { () throws in
            let (archive, context) = (Self.open(bytes), BlobContext(password: "secret"))
            let members = try archive.members(context).filter { $0.kind == .file }
            #expect(!members.isEmpty)
            for member in members.reversed() {
                let name = member.printableName
                #expect(Self.names.contains(name))
                #expect(member.isEncrypted == (member.byteCount ?? 0 > 0))
                let isRight = try Self.read(archive, .name(member.name), context) == Self.content(name)
                #expect(isRight, "\(name) of \(file)")
                guard name != "empty" else { continue }
                let offset = try archive.source(.index(member.index), context).slice(13...)
                let rest = try offset.data(upTo: 1 << 20, context: context)
                #expect(try rest == Self.content(name).dropFirst(13), "\(name) of \(file) at an offset")
            }
        }
    }

    @Test(arguments: archives, [nil, "", "Secret", "a much longer password than the right one"])
    func withoutTheRightPasswordNoByteComesOut(file: String, password: String?) async throws {
        let bytes = try Fixture.bytes(file)
        try await onThread { () throws in
            let (archive, context) = (Self.open(bytes), BlobContext(password: password))
            for index in 0..<2 {
                var output: [UInt8] = []
                let code = codeThrown {
                    let source = try archive.source(.index(index), context)
                    guard try source.info(context).byteCount != 0 else { throw BlobError(.encrypted, "") }
                    let reader = try source.open(context: context)
                    defer { reader.close() }
                    while case let more = try BlobTestSupport.read(reader, upTo: 1000), !more.isEmpty { output += more }
                }
                let isMissing = code == .notFound || code == .unsupported
                #expect(code == .encrypted || isMissing && index == 1, "\(file): \(String(describing: code))")
                #expect(output.isEmpty, "\(file)")
            }
        }
    }

    @Test func aPasswordIsInUTF16() async throws {
        let bytes = try Fixture.bytes("aes-unicode.7z")
        let data = try await onThread {
            try Self.read(Self.open(bytes), .index(0), BlobContext(password: "pässwört€𝄞"))
        }
        #expect(data == Self.first)
    }

    @Test func namesInAnEncryptedHeaderNeedThePassword() async throws {
        for file in ["aes-header.7z", "aes-plain-header.7z", "aes-py7zr-header.7z"] {
            let bytes = try Fixture.bytes(file)
            try await onThread { () throws in
                let archive = Self.open(bytes)
                #expect(codeThrown { try archive.members(BlobContext()) } == .encrypted)
                #expect(codeThrown { try archive.members(BlobContext(password: "other")) } == .encrypted)
                #expect(
                    try archive.members(BlobContext(password: "secret")).map(\.printableName) == ["a.txt", "b.txt"])
                // The header is known now, but not to everybody.
                #expect(codeThrown { try archive.members(BlobContext()) } == .encrypted)
                #expect(codeThrown { try archive.members(BlobContext(password: "other")) } == .encrypted)
            }
        }
    }

    @Test(arguments: [("aes-solid.7z", true), ("aes-header.7z", false), ("aes-py7zr-header.7z", false)])
    func namesInAnEncryptedHeaderAreNotPartOfAnIndex(file: String, isKept: Bool) async throws {
        try await onThread { () throws in
            let index = FileManager.default.temporaryDirectory.appendingPathComponent("blob-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: index) }
            let source = FileSource(path: Fixture.url(file).path)
            let archive = ArchiveContainer(source, format: .sevenzip, index: .file(index.path))
            #expect(try archive.buildIndex(BlobContext(password: "secret")) == isKept)
            #expect(FileManager.default.fileExists(atPath: index.path) == isKept)
            #expect((archive.listing().error == nil) == isKept)
        }
    }

    @Test func aDecoderOfOneJobDoesNotServeAnotherWithoutThePassword() async throws {
        let bytes = try Fixture.bytes("aes-solid.7z")
        try await onThread { () throws in
            let (archive, context) = (Self.open(bytes), BlobContext(password: "secret"))
            #expect(try Self.read(archive, .name(Array("a.txt".utf8)), context) == Self.first)
            for other in [BlobContext(), BlobContext(password: nil), BlobContext(password: "other")] {
                #expect(codeThrown { try Self.read(archive, .name(Array("numbers".utf8)), other) } == .encrypted)
            }
            #expect(try Self.read(archive, .name(Array("numbers".utf8)), context) == Self.numbers)
        }
    }

    @Test func linksInAnEncryptedFolderHaveTheirTargets() async throws {
        let bytes = try Fixture.bytes("aes-link.7z")
        try await onThread { () throws in
            let archive = Self.open(bytes)
            let target = { (context: BlobContext) throws in
                try archive.members(context).first { $0.kind == .symbolicLink }.map { $0.linkTarget }
            }
            #expect(try target(BlobContext(password: "secret")) == Array("a.txt".utf8))
            #expect(try target(BlobContext()) == .some(nil))
        }
    }

    @Test(arguments: ["aes-copy.7z", "aes-header.7z", "aes-plain-header.7z", "aes-py7zr.7z"])
    func damageNeverGivesOtherBytes(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        try await onThread { () throws in
            let context = BlobContext(password: "secret")
            let step = max(1, bytes.count / 20)
            let expected = [Self.first, Self.second]
            let check = { (damaged: Data, what: String) in
                let archive = Self.open(damaged)
                for index in 0..<2 {
                    guard let found = try? Self.read(archive, .index(index), context) else { continue }
                    #expect(expected.contains(found), "\(file), \(what)")
                }
            }
            for count in stride(from: 0, to: bytes.count, by: step) { check(bytes.prefix(count), "\(count) bytes") }
            for place in stride(from: 0, to: bytes.count, by: step) {
                let damaged = bytes.flipping(1 << (place % 8), at: place)
                check(damaged, "byte \(place)")
            }
        }
    }

    @Test func keysOfTooManyRoundsAreRefused() throws {
        let few = try #require(SevenZipEncryption([19]))
        _ = try few.secret("secret").makeKey(BlobContext())
        for rounds: UInt8 in [25, 62] {
            let many = try #require(SevenZipEncryption([rounds])).secret("secret")
            #expect(codeThrown { try many.makeKey(BlobContext()) } == .limitExceeded)
        }
        let context = BlobContext()
        context.cancellation.cancel()
        let late = try #require(SevenZipEncryption([24])).secret("secret")
        #expect(codeThrown { try late.makeKey(context) } == .cancelled)
        // Properties cut off.
        for properties: [UInt8] in [[], [0x80], [0x53, 0x0F, 1], [0xD3, 0xFF], [0x40, 0x0F] + Array(1...17)] {
            #expect(SevenZipEncryption(properties) == nil)
        }
    }
}
