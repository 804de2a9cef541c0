import BlobCore
import BlobDeflate

/// A stream of the bytes of one member, which performs all checks before the end.
final class MemberStream: BlobByteStream {
    let info: BlobInfo?
    private let format: ArchiveFormat
    private let context: BlobContext
    /// The walker at the member; nil when it is no longer needed, so that the pass can reuse it.
    private var found: MemberSearch.FoundEntry?
    /// The bytes in the walker's buffer that were not delivered yet; empty at the end.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The offset of the block in the member; zeros fill a gap before it.
    private var blockOffset: Int64 = 0
    private var isAtEnd = false
    private var checksum = CRC32()

    init(
        _ found: MemberSearch.FoundEntry, info: BlobInfo, format: ArchiveFormat, _ context: BlobContext = BlobContext()
    ) {
        (self.found, self.info, self.format, self.context) = (found, info, format, context)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard let found else { return .end }
        do throws(BlobError) {
            found.lease?.isRead = true
            while try !self.deliver(found, from: byteOffset, into: &output) {
                guard !self.isAtEnd else {
                    try self.end(found, byteOffset)
                    return .end
                }
                try self.takeBlock(found, after: byteOffset)
            }
            return .bytes
        } catch {
            self.close()
            throw error
        }
    }

    func close() { self.found = nil }

    /// Appends the next bytes; returns false if the next block must be read first.
    private func deliver(
        _ found: MemberSearch.FoundEntry, from byteOffset: Int64, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let zeroCount = min(Int(clamping: self.blockOffset - byteOffset), output.freeCapacity)
        if zeroCount > 0 {
            output.append(repeating: 0, count: zeroCount, as: UInt8.self)
            return true
        }
        if !self.block.isEmpty {
            let count = output.append(contentsOf: self.block)
            if found.checksum != nil { self.checksum.update(UnsafeRawBufferPointer(rebasing: self.block[..<count])) }
            self.block = UnsafeRawBufferPointer(rebasing: self.block.dropFirst(count))
            self.blockOffset += Int64(count)
            return true
        }
        // Reads without an intermediate copy.
        guard !self.isAtEnd, found.checksum == nil else { return false }
        let count = try found.walker.readDirectly(into: &output)
        self.blockOffset += Int64(count)
        try self.checkLength(upTo: self.blockOffset)
        return count > 0
    }

    /// Reads the next block, which may follow a gap. At the end of the member, the block is empty and its offset is the
    /// length.
    private func takeBlock(_ found: MemberSearch.FoundEntry, after byteOffset: Int64) throws(BlobError) {
        (self.block, self.blockOffset) = try found.walker.nextBlock()
        self.isAtEnd = self.block.isEmpty
        let (end, overflows) = self.blockOffset.addingReportingOverflow(Int64(self.block.count))
        guard self.blockOffset >= byteOffset, !overflows else {
            throw BlobError(.corrupted, "Parts of the member overlap at byte \(self.blockOffset) of the member.")
        }
        try self.checkLength(upTo: end)
        if self.isAtEnd, let byteCount = self.info?.byteCount, end < byteCount {
            throw BlobError(
                .sizeMismatch, "The member ends after \(end) of the \(byteCount) bytes stated in the archive.")
        }
    }

    private func checkLength(upTo end: Int64) throws(BlobError) {
        guard let byteCount = self.info?.byteCount, end > byteCount else { return }
        throw BlobError(.sizeMismatch, "The member has more than the \(byteCount) bytes stated in the archive.")
    }

    /// Performs the checks that are possible only after the member, and releases the walker.
    private func end(_ found: MemberSearch.FoundEntry, _ byteCount: Int64) throws(BlobError) {
        try self.checksum.check(found.checksum, in: "the directory of the archive")
        // A pass performs the other checks for all its members.
        if found.lease?.pass == nil { try self.checkRest(found) }
        self.context.reportEnd(
            of: self.format.rawValue, byteCount: byteCount,
            check: found.checksum != nil ? "CRC-32" : found.walker.check)
        self.close()
    }

    /// Checks that the name of the member is unique, and checks the end of the archive.
    private func checkRest(_ found: MemberSearch.FoundEntry) throws(BlobError) {
        guard found.walker.isSequential || found.uniqueName != nil else { return }
        var count = 1
        found.walker.willRead(from: .max)
        while !self.format.endsWithData, try found.walker.advance() {
            if let name = found.uniqueName, found.walker.isNamed(name) { count += 1 }
        }
        try found.walker.finish()
        if let name = found.uniqueName, count > 1 {
            throw .ambiguousMemberError(name, count: count, first: found.member.index)
        }
    }
}

extension BlobByteStream {
    /// Returns all bytes of a small member, including the checks at its end.
    ///
    /// - Parameter byteCount: The maximum length of the member in bytes.
    func bytes(atMost byteCount: Int) throws(BlobError) -> [UInt8] {
        try [UInt8](capacity: byteCount + 1) { output in
            while try self.read(at: Int64(output.byteCount), into: &output) == .bytes {}
        }
    }
}
