import BlobDeflate
import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing
import ZipArchive

/// Zips that are made while they are read.
@Suite(.timeLimit(.minutes(10))) struct ZipTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
        var random = SplitMix64(seed: seed)
        return Data((0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
    }

    private func makeZip(
        _ context: BlobContext = BlobContext(), _ append: (inout ZipComposer) throws -> Void
    ) throws -> ZipBody {
        var zip = ZipComposer()
        try append(&zip)
        return try zip.body(context: context)
    }

    private func read(_ source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0) throws -> Data {
        let reader = try source.open(at: byteOffset)
        defer { reader.close() }
        return Data(try readAll(reader))
    }

    /// Returns the entries as our own reader finds them: by the directory, and in passing.
    private func entries(_ zip: Data) throws -> [[UInt8]: Data] {
        var found: [[UInt8]: Data] = [:]
        let archive = try BlobRegistry.standard.container(of: MemorySource(zip), context: BlobContext())
        try archive.forEachMember(BlobContext()) { member in
            guard member.kind == .file else { return true }
            found[member.name] = try self.read(archive.member(.index(member.index), context: BlobContext()))
            return true
        }
        return found
    }

    // MARK: The form

    @Test(arguments: [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 200_000])
    func everyLengthIsExactAndReadBack(count: Int) throws {
        let content = self.bytes(count)
        let zip = try self.makeZip {
            try $0.appendEntry(ZipEntry("of memory"), source: MemorySource(content))
            try $0.appendEntry(
                ZipEntry("known", checksum: CRC32(of: Array(content)).value), source: MemorySource(content))
            try $0.appendEntry(ZipEntry("slow"), source: FaultSource(MemorySource(content), .half))
        }
        let whole = try self.read(zip)
        #expect(zip.byteCount == Int64(whole.count))
        let streamed = count + 5 * max(1, (count + 65_534) / 65_535) + 16
        #expect(whole.count == 3 * (30 + 46) + 2 * (9 + 5 + 4) + 22 + count + 2 * (count == 0 ? 0 : streamed))
        let names = ["of memory", "known", "slow"].map { Array($0.utf8) }
        #expect(try self.entries(whole) == Dictionary(uniqueKeysWithValues: names.map { ($0, content) }))
    }

    @Test func theFieldsAreThoseOfTheFormat() throws {
        let time = Date(timeIntervalSince1970: 1_700_000_001.5)
        let zip = try self.makeZip {
            $0.comment = "about"
            try $0.appendFolder(ZipEntry("d", permissions: 0o750))
            try $0.appendEntry(
                ZipEntry("d/ü", modificationTime: time, permissions: 0o640, comment: "ß", checksum: 0x3610_A686),
                source: MemorySource("hello".utf8))
            try $0.appendLink(ZipEntry("d/link"), target: Array("ü".utf8))
            try $0.appendEntry(ZipEntry(name: [0x66, 0xFF]), source: MemorySource("x".utf8))
        }
        let whole = Array(try self.read(zip))
        #expect(whole.suffix(5).elementsEqual("about".utf8))
        // 2023-11-14 22:13:20, and in seconds of Unix.
        let header = whole.dropFirst(32).prefix(60)
        #expect(
            Array(header).hexadecimal.hasPrefix(
                "504b03040a0000080000aab16e5786a6103605000000050000000400090064 2fc3bc 55540500 01 01f15365 68656c6c6f"
                    .replacing(" ", with: "")))
        let path = self.folder.path("a.zip")
        try Data(whole).write(to: URL(fileURLWithPath: path))
        let archive = try BlobRegistry.standard.container(of: FileSource(path), context: BlobContext())
        var members: [BlobMember] = []
        try archive.forEachMember(BlobContext()) { member in
            members.append(member)
            return true
        }
        #expect(members.map(\.kind) == [.directory, .file, .symbolicLink, .file])
        #expect(members.map(\.permissions) == [0o750, 0o640, 0o777, 0o644])
        #expect(members[1].modificationTime == Date(timeIntervalSince1970: 1_700_000_001))
        #expect(members[2].linkTarget.map { $0.elementsEqual("ü".utf8) } ?? true)
        #expect(members[3].name == [0x66, 0xFF])
    }

    @Test(arguments: [
        "", "/", "/etc/passwd", "a/../b", "..", "a\0b",
    ]) func namesThatReadersRefuseAreRefused(name: String) {
        #expect(
            codeThrown { try self.makeZip { try $0.appendEntry(ZipEntry(name), source: MemorySource([])) } }
                == .invalidArgument)
    }

    @Test func twoEntriesOfOneNameAreRefusedAndLongNamesToo() throws {
        #expect(
            codeThrown {
                try self.makeZip {
                    try $0.appendEntry(ZipEntry("a"), source: MemorySource([]))
                    try $0.appendEntry(ZipEntry("a"), source: MemorySource([]))
                }
            } == .invalidArgument)
        let long = ZipEntry(String(repeating: "n", count: 65_536))
        #expect(
            codeThrown { try self.makeZip { try $0.appendEntry(long, source: MemorySource([])) } } == .limitExceeded)
        #expect(
            codeThrown { try self.makeZip { $0.comment = String(repeating: "n", count: 65_536) } } == .limitExceeded)
    }

    @Test func aZipWithoutEntriesIsAZip() throws {
        let zip = try self.makeZip { _ in }
        #expect(try self.read(zip).count == 22)
        #expect(zip.traits.contains(.neverBlocks))
    }

    @Test func aSourceOfUnknownLengthIsStreamed() async throws {
        let content = self.bytes(70_000)
        let make = { @Sendable in
            try self.makeZip {
                try $0.appendEntry(ZipEntry("unknown"), source: UnknownLength(content))
                try $0.appendEntry(ZipEntry("next"), source: MemorySource("next".utf8))
            }
        }
        #expect(try make().byteCount == nil)
        let whole = try self.read(make())
        #expect(try self.entries(whole) == [Array("unknown".utf8): content, Array("next".utf8): Data("next".utf8)])
        let found = await violations(of: try make(), expecting: whole)
        #expect(found.isEmpty, "\(found)")
    }

    // MARK: Reading

    @Test(arguments: [0, 1, 5000, 66_000]) func aZipKeepsEveryContractOverEveryKindOfSource(length: Int) async throws {
        let memory = MemorySource(self.bytes(length))
        let file = self.folder.path("file")
        try self.bytes(length).write(to: URL(fileURLWithPath: file))
        let kinds: [any BlobInputStreamDataSource] = [
            memory, FaultSource(memory, .half), DripSource(memory), ReadAheadSource(FaultSource(memory, .half)),
            FileSource(file), MemorySource(self.bytes(length + 10)).slice(10...),
        ]
        for kind in kinds {
            let zip = try self.makeZip {
                try $0.appendEntry(ZipEntry("a"), source: kind)
                try $0.appendEntry(ZipEntry("b", checksum: CRC32(of: Array(try self.read(kind))).value), source: kind)
            }
            let found = await violations(of: zip, expecting: try self.read(zip))
            #expect(found.isEmpty, "\(found), \(type(of: kind))")
        }
    }

    @Test func everyRangeIsThatOfTheWholeAlsoInAnotherZip() throws {
        let make = {
            try self.makeZip { zip in
                for number in 0..<300 {
                    let content = self.bytes(number * 997 % 140_000, seed: UInt64(number))
                    let path = self.folder.path("\(number)")
                    try content.write(to: URL(fileURLWithPath: path))
                    setTime(path)
                    try zip.appendEntry(ZipEntry("e\(number)"), source: FileSource(path))
                }
            }
        }
        let zip = try make()
        // Ranges first, so that no checksum is known.
        var random = SplitMix64(seed: 7)
        let length = try #require(zip.byteCount)
        let ranges = (0..<200).map { _ in
            let start = Int64.random(in: 0..<length, using: &random)
            return start..<min(length, start + Int64.random(in: 1...100_000, using: &random))
        }
        let found = try ranges.map { try self.read(zip.slice($0)) }
        let whole = try self.read(zip)
        #expect(Int64(whole.count) == length)
        for (range, bytes) in Swift.zip(ranges, found) { #expect(bytes == whole[range.lowerBound..<range.upperBound]) }
    }

    @Test func consecutiveRangesReadEachByteOnce() throws {
        let counted = CountedSource(VersionedSource(self.bytes(1_000_000), version: "1"))
        let zip = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: counted) }
        let length = try #require(zip.byteCount)
        var whole = Data()
        for start in stride(from: 0, to: length, by: 150_000) {
            whole += try self.read(zip.slice(start..<min(length, start + 150_000)))
        }
        #expect(try self.entries(whole) == [[UInt8(ascii: "a")]: self.bytes(1_000_000)])
        // The beginning of the block in which a range begins is read again.
        #expect(counted.byteCount < 1_000_000 + 8 * 70_000)
        // The directory needs nothing any more.
        let before = counted.byteCount
        _ = try self.read(zip.slice((length - 50)...))
        #expect(counted.byteCount == before)
    }

    /// More separate ranges than are kept, after which the rest is read again.
    @Test func theChecksumIsRightAfterManySeparateRanges() throws {
        let block: Int64 = 65_535
        let info = BlobInfo(byteCount: 3 * 1100 * block, validator: .strong("computed"), isRandomAccess: true)
        let source = ClosureSource(info: info) { byteOffset, output, _ in
            let count = min(Int64(output.freeCapacity), block - byteOffset % block, info.byteCount! - byteOffset)
            output.append(repeating: UInt8(truncatingIfNeeded: byteOffset / block), count: Int(count), as: UInt8.self)
        }
        let zip = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: source) }
        for number in stride(from: Int64(0), to: 3300, by: 3) {
            // Behind the header of 31 bytes, one block and the beginning of the next, which may be completed ahead.
            let start = 31 + number * (block + 5)
            _ = try self.read(zip.slice(start..<start + block + 105))
        }
        let end = try self.read(zip, at: zip.byteCount! - 38 - 47)
        let fresh = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: source) }
        #expect(try self.read(fresh, at: zip.byteCount! - 38 - 47) == end)
    }

    @Test func announcedRangesAreThoseOfTheSources() throws {
        let (streamed, stored) = (AnnouncedSource(self.bytes(200_000)), AnnouncedSource(self.bytes(1000)))
        let zip = try self.makeZip {
            try $0.appendEntry(ZipEntry("a"), source: streamed)
            try $0.appendEntry(ZipEntry("b", checksum: 1), source: stored)
        }
        #expect(zip.traits.contains(.preparable))
        let start: Int64 = 31 + 65_540 + 5
        let second: Int64 = 31 + 200_020 + 16 + 31
        let ranges: [Range<Int64>] = [start..<(start + 10), (second + 100)..<(second + 2000)]
        zip.prepare(ranges, BlobContext())
        #expect(streamed.announced == [65_535..<131_070] && stored.announced == [100..<1000])
    }

    @Test func aStoredChecksumSparesTheSourceInAnotherProcess() throws {
        let index = self.folder.path("index")
        let counted = CountedSource(VersionedSource(self.bytes(300_000), version: "1"))
        let make = {
            try self.makeZip(BlobContext(index: .file(index))) {
                try $0.appendEntry(ZipEntry("a"), source: counted)
                try $0.appendEntry(ZipEntry("b"), source: VersionedSource(self.bytes(10), version: "2"))
            }
        }
        let whole = try self.read(make())
        let before = counted.byteCount
        let zip = try make()
        let start = Int64(whole.count) - 150
        #expect(try self.read(zip, at: start) == whole.dropFirst(Int(start)))
        #expect(counted.byteCount == before)
        #expect(try self.read(zip) == whole)
    }

    // MARK: Identity

    @Test func theValidatorIsThatOfTheSources() throws {
        func validator(
            _ name: String = "a", version: String = "1", permissions: UInt16? = nil, comment: String = ""
        ) throws -> BlobValidator? {
            try self.makeZip {
                $0.comment = comment
                try $0.appendEntry(
                    ZipEntry(name, permissions: permissions), source: VersionedSource(Data("x".utf8), version: version))
            }.info().validator
        }
        let first = try #require(try validator())
        #expect(first.isStrong)
        #expect(try validator() == first)
        for other in [
            try validator("b"), try validator(version: "2"), try validator(permissions: 0o600),
            try validator(comment: "c"),
        ] { #expect(other != first) }
        func linked(_ target: String) throws -> BlobValidator? {
            try self.makeZip { try $0.appendLink(ZipEntry("l"), target: Array(target.utf8)) }.info().validator
        }
        // These two have the same CRC-32.
        #expect(CRC32(of: Array("plumless".utf8)) == CRC32(of: Array("buckeroo".utf8)))
        #expect(try linked("plumless") == linked("plumless") && linked("plumless") != linked("buckeroo"))
        let unknown = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: UnknownLength(Data("x".utf8))) }
        #expect(try unknown.info().validator == nil)
    }

    // MARK: Faults

    /// Sources that fail, end early, or are not what they were, at every phase: an error, and never a whole zip.
    @Test(arguments: [0, 1, 32_000, 65_535, 69_999] as [Int64]) func aFaultIsNeverAnEnd(place: Int64) throws {
        let memory = MemorySource(self.bytes(70_000))
        let checksum = CRC32(of: Array(self.bytes(70_000))).value
        let faults: [FaultSource.Fault] = [
            .fail(at: place), .truncate(at: place), .wrongByteCount(by: 1), .wrongByteCount(by: -1),
        ]
        for fault in faults {
            for known in [nil, checksum] {
                let zip = try self.makeZip {
                    try $0.appendEntry(ZipEntry("before"), source: memory)
                    try $0.appendEntry(ZipEntry("bad", checksum: known), source: FaultSource(memory, fault))
                }
                #expect(codeThrown { try self.read(zip) } != nil, "\(fault)")
                // The directory alone needs the checksum.
                guard known == nil, let length = zip.byteCount else { continue }
                #expect(codeThrown { try self.read(zip, at: length - 30) } != nil, "\(fault)")
            }
        }
        let changed = try self.makeZip {
            try $0.appendEntry(ZipEntry("bad", checksum: checksum), source: FaultSource(memory, .change(at: place)))
        }
        let error = #expect(throws: BlobError.self) { try self.read(changed) }
        #expect(error?.code == .checksumMismatch)
        #expect(error?.message.contains("'bad'") == true)
    }

    @Test func aFileThatChangesIsChanged() throws {
        let path = self.folder.path("file")
        try self.bytes(100_000).write(to: URL(fileURLWithPath: path))
        let zip = try self.makeZip { try $0.appendEntry(ZipEntry("a"), fileURL: URL(fileURLWithPath: path)) }
        try self.bytes(100_000, seed: 2).write(to: URL(fileURLWithPath: path))
        #expect(codeThrown { try self.read(zip) } == .changed)
        #expect(codeThrown { try self.read(zip, at: 70_000) } == .changed)
        #expect(codeThrown { try self.read(zip, at: zip.byteCount! - 40) } == .changed)
    }

    /// A source without an identity, whose bytes are others the second time.
    @Test func otherBytesOfASourceWithoutAnIdentityAreChanged() throws {
        let source = ChangingSource(self.bytes(100_000), self.bytes(100_000, seed: 2))
        let zip = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: source) }
        let first = try self.read(zip)
        source.change()
        #expect(codeThrown { try self.read(zip) } == .changed)
        // Both checksums are discarded, so the next zip has the new bytes and their checksum.
        let second = try self.read(zip)
        #expect(second.count == first.count)
        #expect(try self.entries(second) == [[UInt8(ascii: "a")]: self.bytes(100_000, seed: 2)])
    }

    @Test func aCancelledChecksumEnds() throws {
        let context = BlobContext()
        let stalled = FaultSource(MemorySource(self.bytes(1000)), .stall(at: 500))
        let zip = try self.makeZip { try $0.appendEntry(ZipEntry("a"), source: stalled) }
        let reader = try zip.open(at: zip.byteCount! - 10, context: context)
        context.cancellation.cancel()
        #expect(codeThrown { try readAll(reader) } == .cancelled)
    }

    // MARK: Containers

    @Test func membersAreRepackedWithTheirAttributes() throws {
        let first = try self.makeZip {
            try $0.appendFolder(ZipEntry("d"))
            try $0.appendEntry(ZipEntry("d/a", permissions: 0o600), source: MemorySource("a".utf8))
            try $0.appendLink(ZipEntry("d/l"), target: Array("a".utf8))
        }
        let container = try BlobRegistry.standard.container(
            of: MemorySource(try self.read(first)), context: BlobContext())
        let second = try self.makeZip { try $0.appendMembers(of: container) }
        let whole = try self.read(second)
        #expect(try self.entries(whole) == [Array("d/a".utf8): Data("a".utf8)])
        // The checksum from the table is in the header, so no record follows the bytes.
        #expect(second.traits.contains(.neverBlocks) || Int64(whole.count) == second.byteCount)
        #expect(whole.count == (30 + 46 + 2 * 9) * 3 + 2 * (2 + 3 + 3) + 22 + 2)
    }
}

/// Sets the time of a file to a fixed one, so that its identity is the same each time it is written.
private func setTime(_ path: String) {
    try? FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: path)
}

/// Memory with an identity that other sources can have.
private struct VersionedSource: BlobInputStreamDataSource {
    let base: MemorySource
    let version: String

    init(_ bytes: Data, version: String) { (self.base, self.version) = (MemorySource(bytes), version) }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        var info = try self.base.info(context)
        info.validator = .strong(self.version)
        return info
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let info = try self.describe(opening.context)
        let reader = try self.base.open(at: opening.byteOffset, context: opening.context)
        return .inspected(reader, Told(info: info), startingAt: opening.byteOffset)
    }

    private struct Told: BlobInspector {
        let info: BlobInfo
        func info(of base: BlobInfo) -> BlobInfo { self.info }
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    }
}

/// Memory whose length and identity nobody knows.
private struct UnknownLength: BlobInputStreamDataSource {
    let base: MemorySource

    init(_ bytes: Data) { self.base = MemorySource(bytes) }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.base.open(context: opening.context), Told(), startingAt: 0)
    }

    private struct Told: BlobInspector {
        func info(of base: BlobInfo) -> BlobInfo { BlobInfo() }
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    }
}

/// Memory as if on a network, which records the announced ranges.
private final class AnnouncedSource: BlobInputStreamDataSource {
    private let base: MemorySource
    private let ranges = Locked<[Range<Int64>]>([])

    init(_ bytes: Data) { self.base = MemorySource(bytes) }

    var announced: [Range<Int64>] { self.ranges.withLock { $0 } }
    var traits: BlobTraits { self.base.traits.union(.preparable) }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.info(context) }
    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.makeBody(opening) }
    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.ranges.withLock { $0 += ranges } }
}

/// A source that counts the bytes that are read from it.
private final class CountedSource: BlobInputStreamDataSource {
    private let base: any BlobInputStreamDataSource
    private let count = Locked<Int64>(0)

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    var byteCount: Int64 { self.count.withLock { $0 } }

    func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.info(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(
            try self.base.open(at: opening.byteOffset, matching: opening.validator, context: opening.context),
            Counter(source: self), startingAt: opening.byteOffset)
    }

    private struct Counter: BlobInspector {
        let source: CountedSource
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> {
            self.source.count.withLock { $0 += Int64(bytes.byteCount) }
            return 0..<bytes.byteCount
        }
    }
}

/// A source without an identity, whose bytes change.
private final class ChangingSource: BlobInputStreamDataSource {
    private let versions: [Data]
    private let version = Locked(0)

    init(_ versions: Data...) { self.versions = versions }

    func change() { self.version.withLock { $0 += 1 } }

    func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: Int64(self.versions[0].count), isRandomAccess: true)
    }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        let bytes = self.versions[self.version.withLock { $0 }]
        return .positional(self.describe(opening.context)) { byteOffset, output in
            output.append(contentsOf: bytes.dropFirst(Int(byteOffset)))
        }
    }
}
