import BlobCore
import BlobDeflate
import BlobPlatform

/// A file that is being downloaded, with a record next to it that describes the content and the complete blocks.
///
/// A block is valid if the bytes in the file match the checksum in the record, so the order in which both were written
/// before a power failure does not matter. The record consists of a line of JSON about the content and a line for each
/// block: `NUMBER CHECKSUM`, where the checksum is a CRC-64/NVME in hexadecimal digits.
final class PartialFile {
    /// The description of the content to download.
    struct Content: Codable, Equatable {
        let version: Int
        let byteCount: Int64?
        let validator: String?
        let digests: [String]

        init(_ info: BlobInfo, _ digests: [BlobStatedDigest]) {
            (self.version, self.byteCount, self.validator) = (1, info.byteCount, info.validator?.text)
            self.digests = (digests + info.digests).map { "\($0.algorithm) \($0.value.hexadecimal)" }
        }

        /// Returns true if the versions and the lengths are equal and the content is the same. This requires a digest
        /// that both have in common or, if one of them has no digests, equal validators.
        func isSame(as other: Self) -> Bool {
            guard self.version == other.version, self.byteCount == other.byteCount else { return false }
            let areEqual = self.validator == other.validator
            if !self.digests.isEmpty, !other.digests.isEmpty {
                return !Set(self.digests).isDisjoint(with: other.digests)
            }
            return areEqual && self.validator != nil
        }
    }

    /// A position for writing, which starts at the beginning of a block.
    struct Place {
        /// The offset of the next byte.
        fileprivate(set) var byteOffset: Int64
        /// The checksum of the bytes in the current block.
        fileprivate var sum = CyclicSum(.crc64NVME)

        init(at byteOffset: Int64) { self.byteOffset = byteOffset }
    }

    /// The length of a block in bytes. If the process is killed, only the blocks being written are lost.
    static let blockByteCount: Int64 = 1 << 20
    /// The number of bytes after which the file and its record are synchronised to disk.
    private static let synchronisedByteCount: Int64 = 64 << 20

    private let path: String
    private let byteCount: Int64?
    private let contentFile: Descriptor
    private let record: Descriptor
    private var partPath: String { Self.partPath(self.path) }
    private var recordPath: String { Self.recordPath(self.path) }
    /// The numbers of the complete blocks.
    private var blocks: Set<Int64> = []
    private var unsynchronisedByteCount: Int64 = 0

    deinit { self.contentFile.unlock() }

    /// Returns the start of the block that contains an offset.
    static func blockStart(_ byteOffset: Int64) -> Int64 { byteOffset / self.blockByteCount * self.blockByteCount }
    /// Returns the end of the block that contains the byte before an offset.
    static func blockEnd(_ byteOffset: Int64) -> Int64 { self.blockStart(byteOffset + self.blockByteCount - 1) }

    static func partPath(_ path: String) -> String { path + ".blob-part" }
    static func recordPath(_ path: String) -> String { path + ".blob-part.record" }

    /// Opens the file and its record, and verifies the blocks of an earlier download, if any.
    ///
    /// - Parameters:
    ///   - digests: The digests that the user expects.
    ///   - restarts: True to start over if the content has changed.
    /// - Throws: ``BlobError/Code/changed`` if the content has changed; ``BlobError/Code/unavailable`` while another
    ///   process downloads the file; ``BlobError/Code/invalidArgument`` if the path exists and is not a regular file;
    ///   the errors of the file system.
    init(
        _ path: String, _ info: BlobInfo, _ digests: [BlobStatedDigest], restarts: Bool, _ context: BlobContext
    ) throws {
        (self.path, self.byteCount) = (path, info.byteCount)
        guard FileStatus(at: path)?.isRegular ?? true else {
            throw BlobError(.invalidArgument, "Cannot download to \(path), which is not a regular file.")
        }
        self.contentFile = try Self.openLocked(Self.partPath(path))
        self.record = try Descriptor(
            Self.recordPath(path), O_RDWR | O_CREAT | O_APPEND, permissions: 0o666,
            doing: "Could not open the record of \(path)", operation: "write")
        let size = try self.record.status(named: "the record of \(path)").byteCount
        let lines = try self.record.bytes(count: Int(size), named: "the record of \(path)")
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let content = Content(info, digests)
        // A last line without a line break is incomplete.
        let known = lines.count > 1 ? try? JSONDecoder().decode(Content.self, from: Data(lines[0])) : nil
        if let known, known.isSame(as: content) {
            try self.verify(lines.dropFirst().dropLast(), context)
            return
        }
        guard restarts || lines.count <= 2 || known == nil else {
            throw BlobError(
                .changed, "The content has changed since \(self.partPath) was downloaded.", operation: "read")
        }
        guard ftruncate(self.contentFile.rawValue, 0) == 0, ftruncate(self.record.rawValue, 0) == 0 else {
            throw writeFailure("Could not truncate \(self.partPath)")
        }
        try self.appendToRecord(Array(JSONEncoder().encode(content)))
    }

    /// Opens and locks the file, and verifies that it still has its name.
    private static func openLocked(_ path: String) throws(BlobError) -> Descriptor {
        while true {
            let file = try Descriptor(
                path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o666, doing: "Could not open \(path)",
                operation: "write")
            guard file.lock() else {
                throw BlobError(.unavailable, "Another process is downloading to \(path).", isTransient: false)
            }
            if try FileStatus(at: path)?.identity == file.status(named: path).identity { return file }
        }
    }

    /// Adds the blocks whose bytes match their checksums.
    private func verify(_ lines: ArraySlice<[UInt8].SubSequence>, _ context: BlobContext) throws {
        var sums: [Int64: UInt64] = [:]
        for line in lines {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            guard words.count == 2, let number = Int64(words[0]), number >= 0, let sum = UInt64(words[1], radix: 16)
            else { continue }
            sums[number] = sum
        }
        for number in sums.keys.sorted() {
            try context.check()
            let (start, overflows) = number.multipliedReportingOverflow(by: Self.blockByteCount)
            let length = min((self.byteCount ?? .max) - start, Self.blockByteCount)
            guard !overflows, length > 0 else { continue }
            // If the length is unknown, a block is usable only if no gap precedes it.
            guard self.byteCount != nil || number == self.blocks.count else { break }
            let bytes = try self.contentFile.bytes(at: start, count: Int(length), named: self.partPath)
            var sum = CyclicSum(.crc64NVME)
            bytes.withUnsafeBytes { sum.update($0) }
            if bytes.count == length, sum.value == sums[number] { self.blocks.insert(number) }
        }
    }

    /// The number of bytes in complete blocks.
    var knownByteCount: Int64 {
        let count = Int64(self.blocks.count) * Self.blockByteCount
        guard let byteCount, self.blocks.contains(byteCount / Self.blockByteCount) else { return count }
        return count - Self.blockByteCount + byteCount % Self.blockByteCount
    }

    /// The runs of missing bytes, in order; a nil `end` means the end of the content.
    var missingRanges: [(start: Int64, end: Int64?)] {
        let count = self.byteCount.map { ($0 + Self.blockByteCount - 1) / Self.blockByteCount }
        var (runs, number): ([(start: Int64, end: Int64?)], Int64) = ([], 0)
        while number < count ?? .max {
            guard !self.blocks.contains(number) else {
                number += 1
                continue
            }
            let start = number * Self.blockByteCount
            guard let count else { return [(start, nil)] }
            while number < count, !self.blocks.contains(number) { number += 1 }
            runs.append((start, number == count ? nil : number * Self.blockByteCount))
        }
        // Empty content is read as well, because its end is checked.
        return runs.isEmpty && self.byteCount == 0 ? [(0, nil)] : runs
    }

    /// Returns at most `count` bytes before an offset.
    func bytes(before byteOffset: Int64, count: Int) throws(BlobError) -> [UInt8] {
        let count = min(Int64(count), byteOffset)
        return try self.contentFile.bytes(at: byteOffset - count, count: Int(count), named: self.partPath)
    }

    /// Writes the next bytes at a position, and advances it.
    func append(_ bytes: UnsafeRawBufferPointer, at place: inout Place) throws(BlobError) {
        guard lseek(self.contentFile.rawValue, off_t(place.byteOffset), SEEK_SET) == place.byteOffset else {
            throw writeFailure("Could not seek in \(self.partPath)")
        }
        var rest = bytes
        while !rest.isEmpty {
            let room = Int(Self.blockByteCount - place.byteOffset % Self.blockByteCount)
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(room))
            try writeAll(piece, to: self.contentFile.rawValue, named: self.partPath)
            place.sum.update(piece)
            place.byteOffset += Int64(piece.count)
            if piece.count == room { try self.recordBlock(at: &place) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(room))
        }
    }

    /// Ends the last block of the content, which may be shorter. Has no effect after a full block.
    func endBlock(at place: inout Place) throws(BlobError) {
        if place.byteOffset % Self.blockByteCount != 0 { try self.recordBlock(at: &place) }
    }

    private func recordBlock(at place: inout Place) throws(BlobError) {
        let number = (place.byteOffset - 1) / Self.blockByteCount
        try self.appendToRecord(Array("\(number) \(String(place.sum.value, radix: 16))".utf8))
        self.blocks.insert(number)
        place.sum = CyclicSum(.crc64NVME)
        self.unsynchronisedByteCount += Self.blockByteCount
        guard self.unsynchronisedByteCount >= Self.synchronisedByteCount else { return }
        try self.contentFile.synchronise(doing: "Could not synchronise \(self.partPath)")
        try self.record.synchronise(doing: "Could not synchronise the record of \(self.path)")
        self.unsynchronisedByteCount = 0
    }

    private func appendToRecord(_ line: [UInt8]) throws(BlobError) {
        try writeAll(line + [UInt8(ascii: "\n")], to: self.record.rawValue, named: self.recordPath)
    }

    /// Compares all bytes with the digests.
    ///
    /// - Returns: The digest that was compared; nil if no digest could be computed.
    /// - Throws: ``BlobError/Code/checksumMismatch``, and the errors of reading the file.
    @discardableResult
    func check(_ digests: [BlobStatedDigest], _ context: BlobContext) throws -> String? {
        try Self.check(digests, of: self.contentFile, self.partPath, context)
    }

    /// Returns true if the file exists, has the same length as the content, and matches the digests.
    static func isAlreadyComplete(
        _ path: String, _ info: BlobInfo, _ digests: [BlobStatedDigest], _ context: BlobContext
    ) -> Bool {
        guard !digests.isEmpty, let status = FileStatus(at: path), status.isRegular,
            info.byteCount ?? status.byteCount == status.byteCount,
            let file = try? Descriptor(path, O_RDONLY, doing: "")
        else { return false }
        return (try? self.check(digests, of: file, path, context)) != nil
    }

    private static func check(
        _ digests: [BlobStatedDigest], of file: Descriptor, _ path: String, _ context: BlobContext
    ) throws -> String? {
        guard var check = StatedDigestCheck(digests) else { return nil }
        var byteOffset: Int64 = 0
        while case let bytes = try file.bytes(at: byteOffset, count: Int(self.blockByteCount), named: path),
            !bytes.isEmpty
        {
            try context.check()
            bytes.withUnsafeBytes { check.append($0, at: byteOffset) }
            byteOffset += Int64(bytes.count)
        }
        return try check.finish()
    }

    /// Removes the file and its record, because it is not known which bytes are wrong.
    func discard() { for path in [self.recordPath, self.partPath] { _ = unlink(path) } }

    /// Gives the file its final name once all bytes are on the disk.
    func commit() throws(BlobError) {
        try self.contentFile.synchronise(doing: "Could not synchronise \(self.partPath)")
        guard rename(self.partPath, self.path) == 0 else {
            throw writeFailure("Could not rename the temporary file to \(self.path)")
        }
        try synchroniseFolder(of: self.path)
        _ = unlink(self.recordPath)
    }
}
