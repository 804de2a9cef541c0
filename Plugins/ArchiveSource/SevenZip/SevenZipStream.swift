import BlobCore

/// The bytes of one member of a 7z from an offset on. Returns its decoder to the archive.
final class SevenZipStream: BlobByteStream {
    let info: BlobInfo?
    private let archive: SevenZipArchive
    private let archiveInfo: BlobInfo
    private let index: Int
    private let startOffset: Int64
    private let hasChecksum: Bool
    private let context: BlobContext
    private var cursor: SevenZipCursor?

    /// - Parameters:
    ///   - stream: The index of the member's stream; nil when it has no bytes.
    ///   - byteOffset: The offset of the first byte to read.
    init(
        _ archive: SevenZipArchive, _ layout: SevenZipLayout, _ archiveInfo: BlobInfo, stream: Int?,
        at byteOffset: Int64, info: BlobInfo, _ context: BlobContext
    ) throws(BlobError) {
        (self.archive, self.archiveInfo, self.info, self.startOffset) = (archive, archiveInfo, info, byteOffset)
        self.context = context
        guard let stream, layout.streamByteCounts[stream] > 0 else {
            (self.index, self.hasChecksum) = (0, false)
            return
        }
        self.index = stream - layout.folders[layout.folder(ofStream: stream)].streams.lowerBound
        self.hasChecksum = layout.checksums[stream] != nil
        self.cursor = try archive.cursor(layout, archiveInfo, stream: stream, from: byteOffset, context)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        guard let cursor else { return .end }
        do throws(BlobError) {
            if (cursor.index, cursor.byteOffset) < (self.index, byteOffset) {
                try cursor.go(to: self.index, byteOffset)
            }
            if try cursor.read(into: &output) { return .bytes }
            guard cursor.byteOffset == self.info?.byteCount else {
                throw BlobError(.sizeMismatch, "The member ends at byte \(cursor.byteOffset), before its length.")
            }
        } catch {
            let isDoubtful = error.isAboutFormat && !cursor.secrets.isEmpty && !self.archive.isProven(cursor)
            throw isDoubtful ? .wrongPassword("This member", error) : error
        }
        if self.hasChecksum { self.archive.prove(cursor) }
        self.close()
        if self.startOffset == 0 {
            self.context.reportEnd(
                of: ArchiveFormat.sevenzip.rawValue, byteCount: byteOffset, check: self.hasChecksum ? "CRC-32" : nil)
        }
        return .end
    }

    func close() {
        if let cursor = self.cursor.take() { self.archive.park(cursor, self.archiveInfo) }
    }
}
