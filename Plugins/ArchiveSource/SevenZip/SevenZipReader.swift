import BlobCore

/// A reader of the bytes of one member of a 7z from an offset on, which returns its decoder to the archive.
final class SevenZipReader: BlobPluginReader {
    let info: BlobInfo
    private let archive: SevenZipArchive
    private let archiveInfo: BlobInfo
    private let index: Int
    private let startOffset: Int64
    private let hasChecksum: Bool
    private let context: BlobContext
    private var cursor: SevenZipCursor?
    private var end: Result<Void, BlobError>?

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

    deinit { self.leave() }

    func close() {
        self.leave()
        self.end = .failure(BlobError(.closed, "The reader is closed."))
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.end?.get()
        guard let cursor else { return .end }
        do throws(BlobError) {
            if (cursor.index, cursor.byteOffset) < (self.index, self.startOffset) {
                try cursor.go(to: self.index, self.startOffset)
            }
            if try cursor.read(into: &output) { return .bytes }
            guard cursor.byteOffset == self.info.byteCount else {
                throw BlobError(.sizeMismatch, "The member ends at byte \(cursor.byteOffset), before its length.")
            }
            if self.hasChecksum { self.archive.prove(cursor) }
        } catch {
            let isDoubtful = error.isAboutFormat && !cursor.secrets.isEmpty && !self.archive.isProven(cursor)
            let error = isDoubtful ? BlobError.wrongPassword("This member", error) : error
            self.end = .failure(error)
            self.leave()
            throw error
        }
        self.leave()
        if self.startOffset == 0 {
            self.context.reportEnd(
                of: ArchiveFormat.sevenzip.rawValue, byteCount: cursor.byteOffset,
                check: self.hasChecksum ? "CRC-32" : nil)
        }
        return .end
    }

    private func leave() {
        if let cursor { self.archive.park(cursor, self.archiveInfo) }
        self.cursor = nil
    }
}
