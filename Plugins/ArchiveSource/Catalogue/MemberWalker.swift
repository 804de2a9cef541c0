import BlobCore

/// A pass over an archive from member to member, and over the bytes of the current member.
protocol MemberWalker: AnyObject {
    /// The info of the archive as it was opened.
    var baseInfo: BlobInfo { get }

    /// True when the base is read from beginning to end.
    var isSequential: Bool { get }

    /// Advances to the next member; returns false at the end of the archive.
    func advance() throws(BlobError) -> Bool

    /// The index of the member in the archive's order, from 0; -1 before the first one.
    var index: Int { get }

    /// Returns true when the member has exactly this name. Cheaper than ``entry``.
    func isNamed(_ name: [UInt8]) -> Bool

    /// The facts in the header of the member, which must be read before its bytes.
    var entry: ArchiveEntry { get }

    /// The place of the member for ``go(to:index:)``; nil when only a pass over the archive reaches it.
    var place: Int64? { get }

    /// Makes the next ``advance()`` move to the member with this index at this place. Not to be called when
    /// ``isSequential``.
    func go(to place: Int64, index: Int)

    /// The range in the base of the bytes of the member, before any is read, if they lie there as they are and can be
    /// reached at any offset; nil otherwise.
    var storedRange: Range<Int64>? { get }

    /// The checksum of the bytes of the member that ``nextBlock()`` verifies before it returns the end; nil when it
    /// verifies none.
    var check: String? { get }

    /// Returns the next bytes of the member, valid until the next call, and their offset in it; gaps between blocks are
    /// zeros. At the end, returns no bytes and the length of the member.
    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64)

    /// Appends the next bytes of the member, which follow the last ones without a gap, straight from the base.
    ///
    /// - Returns: The number of bytes; 0 when ``nextBlock()`` must be used, which has them in a buffer.
    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int

    /// Reads and drops the bytes of the member.
    func dropData() throws(BlobError)

    /// Reads a sequential base to its end, after the last member, which runs its final checks.
    func finish() throws(BlobError)
}

extension MemberWalker {
    /// Nil: the bytes are reached through this walker only.
    var storedRange: Range<Int64>? { nil }

    /// Nil: formats without a checksum of members, and those whose checksums are verified elsewhere.
    var check: String? { nil }

    /// 0: the bytes are in a buffer in any case.
    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int { 0 }

    func dropData() throws(BlobError) {
        while try !self.nextBlock().bytes.isEmpty {}
    }

    /// Advances to the next member and returns it; nil at the end of the archive.
    func next() throws(BlobError) -> ArchiveEntry? { try self.advance() ? self.entry : nil }
}
