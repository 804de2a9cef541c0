import BlobCore

/// The division of a 7z into folders, each of which is decoded on its own, and of the folders into members.
struct SevenZipLayout {
    /// The place of the bytes of a member.
    enum Place: Equatable {
        /// The member has no bytes.
        case none
        /// The bytes are those of a member of a folder, by the index that it has in the folder.
        case member(Int, folder: Int)
    }

    /// One folder; its lists are ranges of the lists that all folders share.
    struct Folder {
        /// The range of its coders' description, as in the header.
        fileprivate var description: Range<Int>
        fileprivate var packedCount: Int
        /// The range of the unpacked sizes of its coders' streams.
        fileprivate var byteCounts = 0..<0
        var checksum: UInt32?
        fileprivate var memberCount = 0
    }

    /// The maximum number of members and of packed streams of an archive that is divided; those of larger ones take too
    /// much memory.
    static let maximumCount = 1 << 20

    /// True when a coder is not one of those that nearly all archives have.
    var hasRareCoders = false
    var packedOffset: UInt64 = 0
    var packedByteCounts: [UInt64] = []
    var folders: [Folder] = []
    /// The checksums of the members, except of one that is alone in a folder with a checksum.
    var memberChecksums: [UInt32?] = []
    private var descriptions: [UInt8] = []
    private var byteCounts: [UInt64] = []
    /// The unpacked sizes of the members, except of the last one in each folder.
    private var memberByteCounts: [UInt64] = []
    /// A bit for each member; nil when all have bytes.
    private var hasBytes: [Bool]?
    private var memberCount = 0

    mutating func beginFolder(_ description: ArraySlice<UInt8>, packedCount: Int) {
        let start = self.descriptions.count
        self.descriptions += description
        self.folders.append(Folder(description: start..<self.descriptions.count, packedCount: packedCount))
    }

    mutating func setByteCounts(_ byteCounts: [UInt64], ofFolder index: Int) {
        let start = self.byteCounts.count
        self.byteCounts += byteCounts
        self.folders[index].byteCounts = start..<self.byteCounts.count
    }

    mutating func setMemberCounts(_ counts: [UInt64]) {
        for (index, count) in counts.enumerated() { self.folders[index].memberCount = Int(clamping: count) }
    }

    mutating func appendByteCount(_ byteCount: UInt64) {
        if self.memberByteCounts.count < Self.maximumCount { self.memberByteCounts.append(byteCount) }
    }

    /// True when the lists have as many elements as the folders need, and are not too long.
    var isWhole: Bool {
        let members = self.folders.reduce(0) { $0 + $1.memberCount }
        let sizes = self.folders.reduce(0) { $0 + max(0, $1.memberCount - 1) }
        let packed = self.folders.reduce(0) { $0 + $1.packedCount }
        return max(members, self.packedByteCounts.count) <= Self.maximumCount
            && self.memberByteCounts.count == sizes && self.packedByteCounts.count == packed
    }

    /// Stores which members have bytes; returns false when they are not as many as the folders have.
    mutating func divide(_ hasBytes: [Bool]?, _ count: Int) -> Bool {
        (self.hasBytes, self.memberCount) = (hasBytes, count)
        return hasBytes?.count { $0 } ?? count == self.folders.reduce(0) { $0 + $1.memberCount }
    }

    /// Returns the place of the bytes of the member with this index; nil when there is no such member.
    func place(of index: Int) -> Place? {
        guard (0..<self.memberCount).contains(index) else { return nil }
        guard self.hasBytes?[index] ?? true else { return Place.none }
        var rest = self.hasBytes?[..<index].count { $0 } ?? index
        for (folder, place) in zip(self.folders, self.folders.indices) {
            if rest < folder.memberCount { return .member(rest, folder: place) }
            rest -= folder.memberCount
        }
        return nil
    }

    /// Returns an archive of one folder alone, whose members have the names "m" and no other properties; nil when its
    /// packed streams do not lie within the base.
    func archive(
        ofFolder index: Int, in base: any BlobInputStreamDataSource, byteCount: Int64?
    ) -> (any BlobInputStreamDataSource)? {
        let folder = self.folders[index]
        let first = self.folders[..<index].reduce(0) { $0 + $1.packedCount }
        let packed = self.packedByteCounts[first..<(first + folder.packedCount)]
        guard let start = Self.sum(self.packedByteCounts[..<first], from: self.packedOffset),
            let end = Self.sum(packed, from: start), let byteCount,
            let last = Int64(exactly: end), last <= byteCount - SevenZipHeader.startByteCount
        else { return nil }
        let place = SevenZipHeader.startByteCount
        return SevenZipHeader.archive(
            base.slice((place + Int64(start))..<(place + last)), last - Int64(start), self.header(of: index, packed))
    }

    private static func sum(_ numbers: ArraySlice<UInt64>, from start: UInt64) -> UInt64? {
        var sum = start
        for number in numbers {
            let (next, overflows) = sum.addingReportingOverflow(number)
            guard !overflows else { return nil }
            sum = next
        }
        return sum
    }

    /// Returns the header of an archive of one folder, which has the properties that the folder has in this archive.
    private func header(of index: Int, _ packed: ArraySlice<UInt64>) -> [UInt8] {
        typealias ID = SevenZipHeader.ID
        let folder = self.folders[index]
        let before = self.folders[..<index]
        var header = SevenZipHeaderWriter()
        header.append(.header, .mainStreams, .packInfo)
        header.append([0, UInt64(packed.count)])
        header.append(.size)
        header.append(packed)
        header.append(.end, .unpackInfo, .folders)
        header.append([1, 0])
        header.bytes += self.descriptions[folder.description]
        header.append(.coderSizes)
        header.append(self.byteCounts[folder.byteCounts])
        if let checksum = folder.checksum { header.append(checksums: [checksum]) }
        header.append(.end, .subStreams, .streamCounts)
        header.append([UInt64(folder.memberCount)])
        if folder.memberCount > 1 {
            let first = before.reduce(0) { $0 + max(0, $1.memberCount - 1) }
            header.append(.size)
            header.append(self.memberByteCounts[first..<(first + folder.memberCount - 1)])
        }
        if !folder.hasOnlyChecksum, !self.memberChecksums.isEmpty {
            let first = before.reduce(0) { $0 + ($1.hasOnlyChecksum ? 0 : $1.memberCount) }
            header.append(checksums: self.memberChecksums[first..<(first + folder.memberCount)])
        }
        header.append(.end, .end, .files)
        header.append([UInt64(folder.memberCount)])
        header.append(.names)
        header.append([UInt64(4 * folder.memberCount + 1), 0])
        for _ in 0..<folder.memberCount { header.bytes += [UInt8(ascii: "m"), 0, 0, 0] }
        header.append(.end, .end)
        return header.bytes
    }
}

extension SevenZipLayout.Folder {
    /// True when the folder's checksum is that of its only member.
    fileprivate var hasOnlyChecksum: Bool { self.memberCount == 1 && self.checksum != nil }
}
