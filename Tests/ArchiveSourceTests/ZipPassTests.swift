import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Members of a zip that are read one after the other share an open directory and a reader.
@Suite struct ZipPassTests {
    private static let selectors = (0..<300).map { BlobLocator.Selector.name(Array(String($0).utf8)) }

    private static func text(_ number: Int) -> Data {
        Data(String(repeating: "\(number) ", count: number * 7 % 300).utf8)
    }

    private static func archive() async throws -> (archive: BlobArchive, base: CountedSource) {
        let base = CountedSource(MemorySource(try await Made.archive("many.zip")))
        return (BlobArchive(base, format: .zip), base)
    }

    @Test func manyMembersCostFewOpenings() async throws {
        let (archive, base) = try await Self.archive()
        try await onThread {
            try archive.forEachSource(of: Self.selectors) { position, source in
                let bytes = try source.data(upTo: 1 << 20)
                #expect(bytes == Self.text(position))
            }
            #expect(base.openings < 20)
            let openings = base.openings
            try archive.forEachSource(of: Self.selectors.reversed()) { position, source in
                let bytes = try source.data(upTo: 1 << 20)
                #expect(bytes == Self.text(299 - position))
            }
            #expect(base.openings < openings + 20)
        }
    }

    /// Members that are listed and read are found in the directory: a look-up in a table asks whether the archive is
    /// still the same, and decodes dozens of records.
    @Test func aListedMemberCostsNoQuestionAboutTheArchive() async throws {
        let base = DescribedSource(
            base: MemorySource(try await Made.archive("many.zip"), validator: .strong("zip")))
        try await onThread {
            for _ in 0..<2 {
                var count = 0
                try BlobArchive(base, format: .zip).forEachSource(BlobContext()) { member, source in
                    let bytes = try source.data(upTo: 1 << 20)
                    #expect(bytes == Self.text(member.index))
                    count += 1
                }
                #expect(count == 300)
            }
            #expect(base.descriptions.withLock { $0 } < 20)
        }
    }

    /// Makes a zip of members that are all at the beginning.
    ///
    /// - Parameter declared: The number of members that the trailer says; nil for the right one.
    private static func overlapping(_ count: Int, declared: Int? = nil) -> Data {
        let name = Data("name".utf8)
        func number(_ value: Int, _ byteCount: Int) -> Data {
            Data((0..<byteCount).map { UInt8(value >> (8 * $0) & 0xFF) })
        }
        // Stored, of four bytes.
        let facts = number(20, 2) + number(0, 8) + number(0x1234_5678, 4) + number(4, 4) + number(4, 4) + number(4, 2)
        let local = number(0x0403_4B50, 4) + facts + number(0, 2) + name + Data("text".utf8)
        var directory = Data()
        for index in 0..<count {
            directory += number(0x0201_4B50, 4) + number(20, 2) + facts + number(0, 2) + number(0, 2) + number(0, 8)
            // Different by their attributes.
            directory.replaceSubrange((directory.count - 4)..., with: number(index, 4))
            directory += number(0, 4) + name
        }
        let declared = number(declared ?? count, 2)
        return local + directory + number(0x0605_4B50, 4) + number(0, 4) + declared + declared
            + number(directory.count, 4) + number(local.count, 4) + number(0, 2)
    }

    /// The extents of members that overlap are found once, and a table is blamed once, however many members fail; also where
    /// no table is kept, because the base has no validator.
    @Test(arguments: [true, false], [true, false])
    func membersThatOverlapCostNoPassEach(hasValidator: Bool, isPass: Bool) async throws {
        let count = 2000
        let bytes = Self.overlapping(count)
        let read = Locked(0)
        let memory = hasValidator ? MemorySource(bytes, validator: .strong("zip")) : MemorySource(bytes)
        let base = memory.counting { count, _, _ in read.withLock { $0 += count } }
        try await onThread {
            let archive = BlobArchive(base, format: .zip)
            var codes: [BlobError.Code?] = []
            if isPass {
                try archive.forEachSource(of: (0..<count).map { .index($0) }) { _, source in
                    codes.append(codeThrown { try source.data(upTo: 10) })
                }
            } else {
                for index in 0..<(hasValidator ? count : 20) {
                    codes.append(codeThrown { try archive.source(.index(index)).data(upTo: 10) })
                }
            }
            #expect(codes.allSatisfy { $0 == .inconsistent })
            // A pass for each would read the directory as often as there are members; a member alone reads the trailer.
            let alone = isPass ? 0 : codes.count * (22 + 65_535 + 4096) * 4
            #expect(read.withLock { $0 } < 100 * bytes.count + codes.count * 4096 + alone)
        }
    }

    /// A reader that is still in use keeps its bytes to itself.
    /// The fault of a directory that is longer than the buffer is kept as its extents are.
    @Test(arguments: [true, false]) func aWrongCountOfMembersIsFoundOnce(hasValidator: Bool) async throws {
        let bytes = Self.overlapping(10_000, declared: 9999)
        let (read, limit) = (Locked(0), 10 * bytes.count)
        let memory = hasValidator ? MemorySource(bytes, validator: .strong("zip")) : MemorySource(bytes)
        let base = memory.counting { count, _, _ in read.withLock { $0 += count } }
        try await onThread {
            var codes: [BlobError.Code?] = []
            try BlobArchive(base, format: .zip).forEachSource(of: (0..<300).map { .index($0) }) { _, source in
                codes.append(codeThrown { try source.data(upTo: 1 << 20) })
            }
            #expect(codes == Array(repeating: .inconsistent, count: 300))
            #expect(read.withLock { $0 } < limit)
        }
    }

    @Test func membersCanBeReadSideBySide() async throws {
        let (archive, _) = try await Self.archive()
        try await onThread {
            var readers: [(position: Int, reader: BlobReader)] = []
            defer { for (_, reader) in readers { reader.close() } }
            try archive.forEachSource(of: Self.selectors) { position, source in
                readers.append((position, try source.open()))
                guard readers.count == 5 else { return }
                for (position, reader) in readers.shuffled() {
                    let bytes = try read(reader, upTo: 1 << 20)
                    #expect(bytes == Array(Self.text(position)))
                }
                // The first is left unclosed until the next five are open.
                for (_, reader) in readers.dropFirst() { reader.close() }
                readers.removeAll()
            }
        }
    }

    @Test func whatIsCancelledOrReadInPartLeavesTheOthersReadable() async throws {
        let (archive, _) = try await Self.archive()
        try await onThread {
            var late: [BlobContext] = []
            try archive.forEachSource(of: Self.selectors) { position, source in
                let context = BlobContext()
                late.append(context)
                switch position % 5 {
                case 1:
                    context.cancellation.cancel()
                    let code = codeThrown { try source.data(upTo: 1 << 20, context: context) }
                    #expect(code == .cancelled)
                case 2:
                    let reader = try source.open(context: context)
                    _ = try read(reader, upTo: 3)
                    context.cancellation.cancel()
                    reader.close()
                case 3:
                    // The job of an earlier member may be cancelled when that is over.
                    let bytes = try source.data(upTo: 1 << 20, context: context)
                    #expect(bytes == Self.text(position))
                    for context in late { context.cancellation.cancel() }
                default:
                    let bytes = try source.data(upTo: 1 << 20, context: context)
                    #expect(bytes == Self.text(position))
                }
            }
        }
    }

    @Test func aDamagedMemberLeavesTheOthersReadable() async throws {
        var bytes = try await Made.archive("many.zip")
        let header = try #require(bytes.range(of: Data([0x50, 0x4B, 3, 4]), in: bytes.count / 8..<bytes.count))
        bytes[header.lowerBound + 14] ^= 1
        let damaged = bytes
        try await onThread {
            var codes: [BlobError.Code] = []
            try BlobArchive(MemorySource(damaged), format: .zip).forEachSource(of: Self.selectors) { position, source in
                do {
                    let bytes = try source.data(upTo: 1 << 20)
                    #expect(bytes == Self.text(position))
                } catch {
                    codes.append(BlobError(wrapping: error).code)
                }
            }
            #expect(codes == [.inconsistent])
        }
    }

    /// An error of the base is that of one member, and not of those behind it.
    @Test func anErrorOfTheBaseLeavesTheOthersReadable() async throws {
        let bytes = try await Made.archive("many.zip")
        try await onThread {
            let archive = BlobArchive(OnceBrokenSource(MemorySource(bytes)), format: .zip)
            var codes: [BlobError.Code?] = []
            try archive.forEachSource(of: Self.selectors) { position, source in
                let code = codeThrown {
                    let bytes = try source.data(upTo: 1 << 20)
                    #expect(bytes == Self.text(position))
                }
                codes.append(code)
            }
            #expect(codes.compactMap { $0 } == [.io])
        }
    }
}

/// A layer whose first read at the beginning fails.
private struct OnceBrokenSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    private let isBroken = Locked(false)

    init(_ base: any BlobInputStreamDataSource) { self.underlying = base }

    var traits: BlobTraits { self.underlying.traits }
    var locator: BlobLocator? { self.underlying.locator }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.underlying.info(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(
            try self.underlying.open(opening), Fault { $0 == 0 && !self.isBroken.exchange(true) },
            startingAt: opening.byteOffset)
    }

    private struct Fault: BlobInspector {
        let isAt: (Int64) -> Bool

        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
            if self.isAt(byteOffset) { throw BlobError(.io, "The disk is bad here.") }
            return 0..<bytes.byteCount
        }
    }
}

/// A source that counts the questions about its facts.
private struct DescribedSource: BlobInputStreamDataSource {
    let base: any BlobInputStreamDataSource
    let descriptions = Locked(0)

    var traits: BlobTraits { self.base.traits }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        self.descriptions.withLock { $0 += 1 }
        return try self.base.info(context)
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.base.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
    }
}
