import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Our way through tar against that of libarchive: names, kinds, lengths and bytes.
@Suite struct TarJudgeTests {
    @Test(arguments: [
        "a.tar", "gnu.tar", "v7.tar", "small.tar", "bytes.tar", "sparse.tar", "odd.tar", "pax.tar", "star.tar",
    ])
    func aWholeArchiveIsTheSame(file: String) async throws {
        let bytes = try await Made.archive(file)
        try await onThread {
            let (ours, theirs) = try (Account.ours(bytes), Account.judges(bytes))
            #expect(ours == theirs)
            #expect(ours.failure == nil && !ours.members.isEmpty)
        }
    }

    /// Every tar in the folder that the environment names, as far as libarchive gets.
    @Test func theArchivesOfACorpusAreTheSame() async throws {
        guard let folder = ProcessInfo.processInfo.environment["BLOB_CORPORA"] else { return }
        try await onThread {
            let files = FileManager.default.enumerator(
                at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil)
            var count = 0
            while let url = files?.nextObject() as? URL {
                guard url.pathExtension == "tar", let bytes = try? Data(contentsOf: url), bytes.count < 64 << 20,
                    let theirs = try? Account.judges(bytes), let ours = try? Account.ours(bytes)
                else { continue }
                count += 1
                let difference = Difference(ours, theirs, of: bytes)
                #expect(difference == nil || difference?.reason != nil, "\(url.path): \(difference?.text ?? "")")
            }
            #expect(count > 0)
        }
    }

    @Test(arguments: ["tiny-ustar.tar", "tiny-pax.tar", "tiny-gnu.tar", "sparse.tar", "odd.tar", "star.tar"])
    func mutationsAreTheSameOrKnownToDiffer(file: String) async throws {
        let original = try await Made.archive(file)
        let seed = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 0 ... .max)
        let count = environmentNumber("BLOB_MUTATIONS") ?? 500
        let found = try await onThread {
            var numbers = SplitMix64(seed: seed)
            var found: [String: Int] = [:]
            for round in 0..<count {
                let bytes = mutated(original, &numbers)
                let (ours, theirs) = try (Account.ours(bytes), Account.judges(bytes))
                guard let difference = Difference(ours, theirs, of: bytes) else { continue }
                found[difference.reason?.rawValue ?? "unknown", default: 0] += 1
                #expect(difference.reason != nil, "seed \(seed), round \(round) of \(file): \(difference.text)")
                if difference.reason == nil, let folder = ProcessInfo.processInfo.environment["BLOB_KEEP"] {
                    try bytes.write(to: URL(fileURLWithPath: "\(folder)/\(round)-\(file)"))
                }
            }
            return found
        }
        print("\(file), \(count) mutations, seed \(seed):", found)
    }
}

/// What somebody found in an archive.
private struct Account: Equatable {
    struct Member: Equatable, CustomStringConvertible {
        let name: [UInt8]
        let kind: BlobMember.Kind
        let byteCount: Int64?
        let linkTarget: [UInt8]?
        /// Where the bytes are, and which; nil when they cannot be read.
        var parts: [Part]?
        var warning: String?
        /// Why the bytes cannot be read.
        var failure: String?

        static func == (left: Self, right: Self) -> Bool {
            left.name == right.name && left.kind == right.kind && left.byteCount == right.byteCount
                && left.parts == right.parts
        }

        /// Of the archives that are made for this.
        var isSparse: Bool {
            let name = BlobMember.printable(self.name)
            return name.contains("sparse") || name.contains("holes") || ["s00", "s01", "s10"].contains(name)
        }

        var isFolderByName: Bool { self.kind == .directory && self.name.last == UInt8(ascii: "/") }

        var description: String {
            "'\(BlobMember.printable(self.name))' \(self.kind) \(self.byteCount ?? -1) "
                + (self.parts?.map { "\($0.byteOffset)+\($0.bytes.count)" }.joined(separator: ",") ?? "unreadable")
                + (self.warning.map { " (\($0))" } ?? "")
        }
    }

    struct Part: Equatable {
        let byteOffset: Int64
        var bytes: [UInt8]
    }

    var members: [Member] = []
    var failure: BlobError?

    static func == (left: Self, right: Self) -> Bool {
        left.members == right.members && left.failure?.code == right.failure?.code
    }

    static func ours(_ bytes: Data) throws -> Account {
        Account(of: try TarWalker(over: MemorySource(bytes), BlobContext()))
    }

    static func judges(_ bytes: Data) throws -> Account {
        do {
            return Account(of: try ArchiveWalker(.tar, over: MemorySource(bytes), BlobContext()))
        } catch {
            return Account(members: [], failure: error)
        }
    }

    private init(members: [Member], failure: BlobError?) {
        self.members = members
        self.failure = failure
    }

    private init(of walker: any MemberWalker) {
        do throws(BlobError) {
            while let entry = try walker.next() {
                var member = Member(
                    name: entry.member.name, kind: entry.member.kind, byteCount: entry.member.byteCount,
                    linkTarget: entry.member.linkTarget)
                member.warning = entry.member.headerFault
                if entry.member.hasBytes, entry.member.headerFault == nil {
                    do throws(BlobError) {
                        member.parts = try Self.parts(walker, entry)
                    } catch {
                        member.failure = error.message
                    }
                }
                self.members.append(member)
            }
        } catch {
            self.failure = error
        }
    }

    private static func parts(_ walker: any MemberWalker, _ entry: ArchiveEntry) throws(BlobError) -> [Part] {
        var parts: [Part] = []
        var end: Int64 = 0
        while case let (bytes, byteOffset) = try walker.nextBlock(), !bytes.isEmpty {
            // What a reader refuses.
            guard byteOffset >= end, byteOffset &+ Int64(bytes.count) <= entry.member.byteCount ?? .max,
                byteOffset &+ Int64(bytes.count) > byteOffset
            else { throw BlobError(.corrupted, "Parts lie over one another.") }
            if let last = parts.indices.last, end == byteOffset {
                parts[last].bytes += bytes
            } else {
                parts.append(Part(byteOffset: byteOffset, bytes: Array(bytes)))
            }
            end = byteOffset + Int64(bytes.count)
        }
        return parts
    }
}

/// How two accounts of one archive differ.
private struct Difference {
    /// The differences that are meant, and why.
    enum Reason: String {
        /// The library takes an archive for tar only if every number of its first header is well-formed.
        case firstHeader = "the first header is not one of tar for the library"
        /// The library gives a member up when what fills up its last block is cut off, though its bytes are whole.
        case fillIsCut = "only what fills up the last block is cut off"
        /// Here a map that contradicts itself or the lengths makes the member unreadable. The library fails for good,
        /// loses its place, or takes what it understands.
        case sparseMap = "the map of a sparse file is damaged"
        /// Names and lengths of a member that neither wants to read may be of this or that header.
        case refusedByBoth = "both refuse the bytes"
        /// Here a record of pax counts as malformed that the library reads as far as it goes.
        case strict = "a record of pax is malformed"
        /// The library minds what is odd in records that say nothing of names, lengths and bytes.
        case strictThere = "the library does not like a record of pax"
        /// The library goes on right behind the header of a file that is a folder by its name.
        case folderWithBytes = "a folder by its name has bytes"
        /// The library gives up for a number in a header that pax has another one for.
        case overridden = "a number is wrong that does not count"
        /// Sometimes the library takes it for a file.
        case emptyLink = "a hard link leads to nothing"
        /// Which of several that contradict one another counts is anybody's guess.
        case mixed = "headers of pax and of GNU speak of one member"
        /// The library reads no global headers.
        case global = "there is a global header of pax"
        /// To the library, they are files.
        case gnuTypes = "there is a GNU list of names, or a part of a file from another volume"
        /// The library needs blocks of 512 bytes to look at, and fails elsewhere.
        case cut = "the archive is cut off"
        // The library stops at the first block of zeros, whatever follows.
        case trailing = "other data follow the end"
    }

    let reason: Reason?
    let text: String

    private static func isMixed(_ archive: Data) -> Bool {
        let types = Set(stride(from: 156, to: archive.count, by: 512).map { archive[$0] })
        return !types.isDisjoint(with: Array("LK".utf8)) && !types.isDisjoint(with: Array("xX".utf8))
    }

    /// True when a global header, unlike that of the original, may speak of names, times or lengths.
    private static func isGlobal(_ archive: Data) -> Bool {
        stride(from: 156, to: archive.count, by: 512).contains { archive[$0] == UInt8(ascii: "g") && $0 > 156 }
            || archive.prefix(157).last == UInt8(ascii: "g")
                && archive.prefix(1024).range(of: Data("comment=for all".utf8)) == nil
    }

    init?(_ ours: Account, _ theirs: Account, of bytes: Data) {
        for (index, (mine, other)) in zip(ours.members, theirs.members).enumerated() where mine != other {
            let isLast = index == ours.members.count - 1
            self.text = "\(mine) for \(other)"
            self.reason =
                if mine.parts == nil, other.parts == nil {
                    .refusedByBoth
                } else if mine.isSparse || mine.failure?.contains("sparse") ?? false {
                    .sparseMap
                } else if mine.kind == .special, other.kind == .file {
                    .gnuTypes
                } else if mine.kind == .hardLink, mine.linkTarget?.isEmpty ?? true {
                    .emptyLink
                } else if mine.kind == .hardLink, mine.name.last == UInt8(ascii: "/") {
                    .folderWithBytes
                } else if mine.name != other.name, Self.isMixed(bytes) {
                    .mixed
                } else if mine.parts == nil, mine.warning != nil {
                    .strict
                } else if mine.parts != nil, other.parts == nil, other.warning?.contains("pax") ?? false {
                    .strictThere
                } else if mine.parts != nil, other.parts == nil, isLast,
                    ours.failure?.code == .truncated
                        || !bytes.count.isMultiple(of: 512)
                {
                    .fillIsCut
                } else {
                    Self.isGlobal(bytes) ? .global : nil
                }
            return
        }
        let (mine, other) = (ours.failure, theirs.failure)
        guard ours.members.count != theirs.members.count || (mine == nil) != (other == nil) else { return nil }
        self.text =
            "\(ours.members.count) for \(theirs.members.count): \(mine?.description ?? "whole") for "
            + "\(other?.description ?? "whole"), \(ours.members.last?.description ?? "")"
        let next = ours.members.dropFirst(theirs.members.count).first
        self.reason =
            if ours.members.count == theirs.members.count, mine?.code == .trailingData, other == nil {
                .trailing
            } else if theirs.members.isEmpty, other?.message.contains("its structure is not valid") ?? false {
                .firstHeader
            } else if other?.message.contains("sparse map") ?? false || theirs.members.last?.isSparse ?? false
                || next?.isSparse ?? false
            {
                .sparseMap
            } else if mine?.code == .truncated, other != nil {
                .cut
            } else if [ours, theirs].contains(where: { $0.members.last?.isFolderByName ?? false }) {
                .folderWithBytes
            } else if other?.message.contains(/overflow|negative/) ?? false {
                .overridden
            } else {
                Self.isGlobal(bytes) ? .global : nil
            }
    }
}

/// The archive with one to three bytes of headers changed, mostly with checksums that are right again.
private func mutated(_ original: Data, _ numbers: inout SplitMix64) -> Data {
    var bytes = [UInt8](original)
    for _ in 0..<Int.random(in: 1...3, using: &numbers) {
        let place = Int.random(in: 0..<bytes.count, using: &numbers)
        let likely: [UInt8] = [0, 0x20, 0x2F, 0x30, 0x31, 0x37, 0x4C, 0x53, 0x67, 0x78, 0x80, 0xFF]
        bytes[place] =
            Bool.random(using: &numbers)
            ? UInt8.random(in: 0...255, using: &numbers) : likely.randomElement(using: &numbers) ?? 0
        let start = place / 512 * 512
        guard Int.random(in: 0..<8, using: &numbers) > 0, start + 512 <= bytes.count,
            bytes[(start + 257)..<(start + 262)].elementsEqual("ustar".utf8) || !(148..<156).contains(place - start)
        else { continue }
        // Only blocks that were headers become headers.
        guard TarHeader.wasHeader(original, start) else { continue }
        for index in 148..<156 { bytes[start + index] = 0x20 }
        let sum = bytes[start..<(start + 512)].reduce(0) { $0 + Int($1) }
        for (index, digit) in (String(repeating: "0", count: 6) + String(sum, radix: 8)).utf8.suffix(6).enumerated() {
            bytes[start + 148 + index] = digit
        }
        bytes[start + 154] = 0
    }
    if Int.random(in: 0..<16, using: &numbers) == 0 {
        bytes.removeLast(Int.random(in: 1..<bytes.count, using: &numbers))
    }
    return Data(bytes)
}

extension TarHeader {
    fileprivate static func wasHeader(_ archive: Data, _ start: Int) -> Bool {
        archive[start] != 0
            && [UInt8](archive[start..<(start + 512)]).withUnsafeBytes { TarHeader($0).isChecksumRight }
    }
}
