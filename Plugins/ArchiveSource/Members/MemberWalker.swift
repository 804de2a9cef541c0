import BlobStreams

/// Goes through an archive from member to member, and through the bytes of the one where it is.
protocol MemberWalker: AnyObject {
    /// The archive itself, as it was opened.
    var baseInfo: BlobInfo { get }

    /// True when the base is read from one end to the other.
    var isSequential: Bool { get }

    /// Goes on to the next member; false at the end of the archive.
    func advance() throws(BlobError) -> Bool

    /// The place of the member in the archive's order, from 0.
    var index: Int { get }

    /// Whether the member has exactly this name. Cheaper than ``entry``.
    func isNamed(_ name: [UInt8]) -> Bool

    /// What the header of the member says; to be asked before its bytes are.
    var entry: ArchiveEntry { get }

    /// Where the member begins; nil where only going through the archive leads there.
    var place: Int64? { get }

    /// Has the next ``advance()`` go to the member with this index at this place. Not when ``isSequential``.
    func go(to place: Int64, index: Int)

    /// Some bytes of the member, which stay where they are until the next call, and their offset in it; what lies
    /// between them is zeros. No bytes at the end of the member, at whose offset it ends.
    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64)

    /// Reads what is behind the last member, if the base is read from one end to the other: its end is checked there.
    func finish() throws(BlobError)
}

extension MemberWalker {
    /// Reads and drops the bytes of the member.
    func dropData() throws(BlobError) {
        while try !self.nextBlock().bytes.isEmpty {}
    }

    /// The next member; nil at the end of the archive.
    func next() throws(BlobError) -> ArchiveEntry? { try self.advance() ? self.entry : nil }
}
