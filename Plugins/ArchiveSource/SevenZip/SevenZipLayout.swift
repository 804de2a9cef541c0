import BlobCore

/// The division of a 7z into folders, which are decoded independently, and of the folders into streams, which are the
/// bytes of the members.
struct SevenZipLayout {
    /// A folder, whose lists are ranges in the lists shared by all folders.
    struct Folder {
        /// The range of the description of the coders, copied from the header.
        fileprivate let description: Range<Int>
        /// The range of its packed streams.
        fileprivate let packed: Range<Int>
        /// The number of streams that the coders produce, and the index of the stream that no other coder reads.
        let outputCount: Int
        fileprivate let mainStream: Int
        let isEncrypted: Bool
        fileprivate let hasBCJ2: Bool
        /// True if a coder is a branch filter that liblzma decodes.
        fileprivate let hasBranch: Bool
        /// The first unsupported method; nil if all methods are supported.
        fileprivate let unsupportedMethod: UInt64?
        /// The memory of the coder that needs the most, in bytes.
        fileprivate var memoryByteCount: UInt64
        /// The range of the unpacked sizes of its coders' streams.
        fileprivate var byteCounts = 0..<0
        var checksum: UInt32?
        /// The range of its members' streams.
        var streams = 0..<0
    }

    typealias Protection = (encryption: SevenZipEncryption, secret: SevenZipEncryption.Secret)

    /// The maximum number of members and of packed streams in an archive that is divided; larger archives would need
    /// too much memory.
    static let maximumCount = 1 << 20

    /// True if a coder is not in ``SevenZipMethod/commonMethods``.
    private(set) var hasRareCoders = false
    var packedOffset: UInt64 = 0
    var packedByteCounts: [UInt64] = []
    var folders: [Folder] = []
    /// The checksums of the streams, with nil for a stream without a checksum.
    private(set) var checksums: [UInt32?] = []
    /// The lengths of the streams in bytes.
    private(set) var streamByteCounts: [UInt64] = []
    /// The members from the header; nil if libarchive must read the members.
    var members: SevenZipMembers?
    /// The encryption of the header, and the secret that decrypted it; nil if the header is not encrypted.
    var protection: Protection?
    private var descriptions: [UInt8] = []
    private var byteCounts: [UInt64] = []
    /// The index of each member's stream; the list is nil if each member has the stream with the same index.
    private var streams: [Int32?]?
    private var memberCount = 0

    /// Appends a folder with these coders and their description from the header.
    mutating func appendFolder(_ coders: SevenZipCoders, _ description: ArraySlice<UInt8>) {
        let (start, packed) = (self.descriptions.count, self.folders.last?.packed.upperBound ?? 0)
        self.descriptions += description
        self.hasRareCoders = self.hasRareCoders || coders.includeRareCoders
        self.folders.append(
            Folder(
                description: start..<self.descriptions.count, packed: packed..<(packed + coders.packedCount),
                outputCount: coders.outputCount, mainStream: coders.mainOutput, isEncrypted: coders.isEncrypted,
                hasBCJ2: coders.hasBCJ2, hasBranch: coders.hasBranch, unsupportedMethod: coders.unsupportedMethod,
                memoryByteCount: coders.memoryByteCount))
    }

    /// Stores the unpacked sizes of the coders' streams in a folder.
    mutating func setByteCounts(_ byteCounts: [UInt64], ofFolder index: Int) throws {
        let start = self.byteCounts.count
        self.byteCounts += byteCounts
        self.folders[index].byteCounts = start..<self.byteCounts.count
        guard self.folders[index].hasBCJ2 else { return }
        let side = try self.coders(ofFolder: index).sideByteCount
        self.folders[index].memoryByteCount = max(self.folders[index].memoryByteCount, side)
    }

    /// Checks that the methods of a folder are supported, and that its coders do not need too much memory.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if a method is unsupported; ``BlobError/Code/limitExceeded`` if a
    ///   coder needs too much memory.
    func checkReadable(folder index: Int, _ context: BlobContext) throws(BlobError) {
        if let method = self.folders[index].unsupportedMethod { throw SevenZipMethod.unsupportedMethodError(method) }
        try context.checkMemory(self.folders[index].memoryByteCount, for: "The data of the 7z archive")
    }

    /// Checks that no folder needs too much memory, before libarchive decodes any of them.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if a folder needs more than ``BlobContext/memoryLimit``.
    func checkMemory(_ context: BlobContext) throws(BlobError) {
        let byteCount = self.folders.reduce(0) { max($0, $1.memoryByteCount) }
        try context.checkMemory(byteCount, for: "The data of the 7z archive")
    }

    /// Returns a walker over the members of a folder; nil if the folder cannot be decoded separately.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the base.
    ///   - isolation: The process that decodes an archive with rare coders.
    ///   - key: Returns the key of an encryption.
    /// - Throws: The errors thrown by ``checkReadable(folder:_:)``, and errors while opening.
    func walker(
        ofFolder index: Int, in base: any BlobInputStreamDataSource, byteCount: Int64?,
        _ isolation: ArchiveIsolation?, _ context: BlobContext,
        _ key: (SevenZipEncryption) throws(BlobError) -> SevenZipKey
    ) throws(BlobError) -> (any MemberWalker)? {
        try self.checkReadable(folder: index, context)
        guard let source = try self.archive(ofFolder: index, in: base, byteCount: byteCount, key) else { return nil }
        let walker = try SevenZipWalker.decoder(over: source, self.hasRareCoders ? isolation : nil, context)
        guard self.folders[index].hasBranch, let branch = (try? self.splitCoders(ofFolder: index))?.branch else {
            return walker
        }
        let streams = self.folders[index].streams
        return try BranchWalker(
            walker, branch, byteCounts: Array(self.streamByteCounts[streams]), checksums: Array(self.checksums[streams])
        )
    }

    /// Returns the coders of a folder, and the branch filter after them; the filter is nil if the folder has none.
    private func splitCoders(
        ofFolder index: Int
    ) throws -> (coders: SevenZipCoders, branch: SevenZipCoders.Branch?) {
        var coders = try self.coders(ofFolder: index)
        guard self.folders[index].hasBranch else { return (coders, nil) }
        guard let branch = coders.removeBranch() else { throw SevenZipHeader.MalformedHeaderError() }
        return (coders, branch)
    }

    /// Divides the folders into streams.
    ///
    /// - Parameters:
    ///   - counts: The number of streams of each folder.
    ///   - byteCounts: The lengths of the streams, except the last stream in each folder.
    ///   - checksums: The checksums of the streams, without each stream that is the only one in a folder with a
    ///     checksum; empty if the header has no such checksums.
    /// - Returns: False if the lists do not match the folders, or are too long.
    mutating func divide(_ counts: [UInt64], _ byteCounts: [UInt64], _ checksums: [UInt32?]) -> Bool {
        var (sizes, sums) = (byteCounts[...], checksums[...])
        for (index, folder) in self.folders.enumerated() {
            let (start, count) = (self.streamByteCounts.count, Int(clamping: counts[index]))
            guard count <= Self.maximumCount - start else { return false }
            self.folders[index].streams = start..<(start + count)
            guard count > 0 else { continue }
            var rest = self.byteCounts[folder.byteCounts][folder.byteCounts.lowerBound + folder.mainStream]
            for _ in 1..<count {
                guard let size = sizes.popFirst(), size <= rest else { return false }
                rest -= size
                self.streamByteCounts.append(size)
            }
            self.streamByteCounts.append(rest)
            if count == 1, let checksum = folder.checksum {
                self.checksums.append(checksum)
            } else if checksums.isEmpty {
                self.checksums += [UInt32?](repeating: nil, count: count)
            } else {
                guard sums.count >= count else { return false }
                self.checksums += sums.prefix(count)
                sums = sums.dropFirst(count)
            }
        }
        return sizes.isEmpty && sums.isEmpty && self.packedByteCounts.count <= Self.maximumCount
            && self.packedByteCounts.count == self.folders.last?.packed.upperBound ?? 0
    }

    /// Makes each folder a single stream, as for a compressed header.
    ///
    /// - Returns: False if the archive has too many streams, or if the packed streams do not match the folders.
    mutating func makeWhole() -> Bool {
        self.divide([UInt64](repeating: 1, count: self.folders.count), [], [])
    }

    /// Stores which members have bytes; returns false if their number does not match the number of streams.
    mutating func divide(_ hasBytes: [Bool]?, _ count: Int) -> Bool {
        self.memberCount = count
        guard let hasBytes else { return count == self.streamByteCounts.count }
        var next: Int32 = 0
        self.streams = hasBytes.map { hasBytes in
            guard hasBytes else { return nil }
            defer { next += 1 }
            return next
        }
        return Int(next) == self.streamByteCounts.count
    }

    /// Returns the index of a member's stream; nil if the member has no stream or does not exist.
    func stream(of index: Int) -> Int? {
        guard (0..<self.memberCount).contains(index) else { return nil }
        return self.streams.map { $0[index].map(Int.init) } ?? index
    }

    /// Returns the index of the folder of a stream.
    func folder(ofStream stream: Int) -> Int {
        max(self.folders.partitioningIndex { $0.streams.lowerBound > stream } - 1, 0)
    }

    /// Returns the coders of a folder.
    ///
    /// - Throws: ``SevenZipHeader/MalformedHeaderError``.
    func coders(ofFolder index: Int) throws -> SevenZipCoders {
        let folder = self.folders[index]
        var bytes = SevenZipHeader.Bytes(self.descriptions[folder.description])
        var coders = try SevenZipCoders(&bytes)
        coders.byteCounts = Array(self.byteCounts[folder.byteCounts])
        coders.packedByteCounts = Array(self.packedByteCounts[folder.packed.clamped(to: self.packedByteCounts.indices)])
        return coders
    }

    /// Returns an archive of one folder, whose members all have the name "m" and no other properties; nil if its
    /// packed streams are not within the base, or its encryption is unknown.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the base, or of its beginning with the packed streams.
    ///   - key: Returns the key of an encryption.
    func archive(
        ofFolder index: Int, in base: any BlobInputStreamDataSource, byteCount: Int64?,
        _ key: (SevenZipEncryption) throws(BlobError) -> SevenZipKey
    ) throws(BlobError) -> (any BlobInputStreamDataSource)? {
        let packed = self.folders[index].packed
        let place = SevenZipHeader.startByteCount
        guard let start = Self.sum(self.packedByteCounts[..<packed.lowerBound], from: self.packedOffset),
            let end = Self.sum(self.packedByteCounts[packed], from: start), let byteCount,
            let last = Int64(exactly: end), last <= byteCount - place,
            var coders = (try? self.splitCoders(ofFolder: index))?.coders
        else { return nil }
        let none = [SevenZipEncryption?](repeating: nil, count: packed.count)
        guard let encryptions = self.folders[index].isEncrypted ? coders.removeEncryption() : none else { return nil }
        var offset = place + Int64(start)
        var parts: [any BlobInputStreamDataSource] = []
        for (packedByteCount, place) in zip(self.packedByteCounts[packed], encryptions.indices) {
            let part = base.slice(offset..<(offset + Int64(packedByteCount)))
            offset += Int64(packedByteCount)
            guard let encryption = encryptions[place] else {
                parts.append(part)
                continue
            }
            guard
                let source = DecryptedSource(
                    part, packedByteCount: packedByteCount, byteCount: coders.packedByteCounts[place],
                    try key(encryption), encryption.initialVector)
            else { return nil }
            parts.append(source)
        }
        let decryptedByteCount = coders.packedByteCounts.reduce(0) { $0 + Int64($1) }
        return SevenZipHeader.archive(parts, decryptedByteCount, self.header(of: index, coders))
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

    /// Returns the header of an archive of one folder with these coders.
    private func header(of index: Int, _ coders: SevenZipCoders) -> [UInt8] {
        typealias ID = SevenZipHeader.ID
        let streams = self.folders[index].streams
        // A branch filter applies to the whole folder, before its division.
        let count = self.folders[index].hasBranch ? 1 : streams.count
        var header = SevenZipHeaderWriter()
        header.append(.header, .mainStreams, .packInfo)
        header.append([0, UInt64(coders.packedByteCounts.count)])
        header.append(.size)
        header.append(coders.packedByteCounts)
        header.append(.end, .unpackInfo, .folders)
        header.append([1, 0])
        coders.write(to: &header)
        header.append(.coderSizes)
        header.append(coders.byteCounts)
        header.append(.end, .subStreams, .streamCounts)
        header.append([UInt64(count)])
        if count > 1 {
            header.append(.size)
            header.append(self.streamByteCounts[streams].dropLast())
        }
        // Includes the checksum of a folder with one member, because libarchive verifies only the checksums of members.
        if !self.folders[index].hasBranch, self.checksums[streams].contains(where: { $0 != nil }) {
            header.append(checksums: self.checksums[streams])
        }
        header.append(.end, .end, .files)
        header.append([UInt64(count)])
        header.append(.names)
        header.append([UInt64(4 * count + 1), 0])
        for _ in 0..<count { header.bytes += [UInt8(ascii: "m"), 0, 0, 0] }
        header.append(.end, .end)
        return header.bytes
    }
}
