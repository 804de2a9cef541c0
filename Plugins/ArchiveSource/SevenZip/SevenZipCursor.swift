import BlobCore

/// A decoder of one folder of a 7z, which moves forward through the members of the folder. Has one owner.
///
/// Between two owners, it keeps the state of the decoder, such as the LZMA window, but no open base.
final class SevenZipCursor {
    let folder: Int
    /// The secrets of the folder's encryption; empty if it is not encrypted.
    private(set) var secrets: [SevenZipEncryption.Secret] = []
    private let walker: any MemberWalker
    private let context: BlobContext
    private let sink = Locked<(@Sendable (BlobEvent) -> Void)?>(nil)
    private var cancellationRegistration: BlobRegistration?

    /// The index in the folder of the current member; -1 before the first member.
    private(set) var index = -1
    /// The offset in the member of the next byte.
    private(set) var byteOffset: Int64 = 0
    /// The unread bytes in the walker's buffer.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    private var hasFailed = false

    /// - Throws: ``BlobError/Code/corrupted`` if the folder is not within the archive; the errors thrown by
    ///   ``SevenZipKeys/key(_:of:_:)``.
    init(
        folder: Int, _ layout: SevenZipLayout, in base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation,
        _ keys: SevenZipKeys, _ context: BlobContext
    ) throws(BlobError) {
        self.folder = folder
        // The cursor has its own cancellation, which the jobs that use it in turn can trigger.
        var own = context.blocking
        own.cancellation = BlobCancellation()
        own.eventSink = { [sink = self.sink] event in sink.withLock { $0 }?(event) }
        self.context = own
        var secrets: [SevenZipEncryption.Secret] = []
        let walker = try layout.walker(
            ofFolder: folder, in: base, byteCount: try base.info(context).byteCount, isolation, own
        ) { encryption throws(BlobError) in
            let (key, secret) = try keys.key(encryption, of: base.locator, context)
            secrets.append(secret)
            return key
        }
        guard let walker else {
            throw layout.folders[folder].isEncrypted
                ? BlobError(.unsupported, "The member is encrypted with a method that is not supported.")
                : BlobError(.corrupted, "The data of the member lies outside the archive.")
        }
        self.walker = walker
        self.secrets = secrets
        self.begin(context)
    }

    /// Returns true if a job may use the cursor to read a member of the folder, starting at an offset.
    func serves(_ context: BlobContext, folder: Int, _ index: Int, from byteOffset: Int64) -> Bool {
        folder == self.folder && (self.index, self.byteOffset) <= (index, byteOffset)
            && self.context.hasSameLimits(as: context.blocking)
    }

    /// Begins the use of the cursor by a job.
    func begin(_ context: BlobContext) {
        self.cancellationRegistration = context.cancellation.onCancel { [own = self.context] in
            own.cancellation.cancel()
        }
        _ = self.sink.exchange(context.eventSink)
    }

    /// Ends the use of the cursor by a job; returns false if the cursor is no longer usable.
    func end() -> Bool {
        self.cancellationRegistration?.cancel()
        self.cancellationRegistration = nil
        _ = self.sink.exchange(nil)
        let walker = ((self.walker as? BranchWalker)?.base ?? self.walker) as? ArchiveWalker
        guard !self.hasFailed, !self.context.cancellation.isCancelled, let walker else { return false }
        walker.releaseBase()
        return true
    }

    /// Moves forward to an offset in a member, or to the end of the member if that comes first.
    func go(to index: Int, _ byteOffset: Int64) throws(BlobError) {
        try self.recordingFailure { () throws(BlobError) in
            while self.index < index {
                if self.index >= 0, self.walker.entry.member.hasBytes { try self.walker.dropData() }
                guard try self.walker.advance() else {
                    throw BlobError(.corrupted, "The archive has fewer members than its header says.")
                }
                self.block = UnsafeRawBufferPointer(start: nil, count: 0)
                (self.index, self.byteOffset) = (self.index + 1, 0)
            }
            while self.byteOffset < byteOffset, try self.fill() {
                self.drop(Int(clamping: min(Int64(self.block.count), byteOffset - self.byteOffset)))
            }
        }
    }

    /// Appends the next bytes of the member; returns false at its end, after all checks.
    func read(into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        guard try self.recordingFailure({ () throws(BlobError) in try self.fill() }) else { return false }
        self.drop(output.append(contentsOf: self.block))
        return true
    }

    private func drop(_ count: Int) {
        self.block = UnsafeRawBufferPointer(rebasing: self.block.dropFirst(count))
        self.byteOffset += Int64(count)
    }

    private func fill() throws(BlobError) -> Bool {
        if self.block.isEmpty { self.block = try self.walker.nextBlock().bytes }
        return !self.block.isEmpty
    }

    private func recordingFailure<Result>(_ body: () throws(BlobError) -> Result) throws(BlobError) -> Result {
        do {
            return try body()
        } catch {
            self.hasFailed = true
            throw error
        }
    }
}

/// The bytes of one member of a 7z, starting at an offset.
///
/// Returns its decoder to the archive when it is closed.
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
    ///   - stream: The index of the member's stream; nil if the member has no bytes.
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
                throw BlobError(
                    .sizeMismatch, "The member ends at byte \(cursor.byteOffset), before its stated length.")
            }
        } catch {
            let isDoubtful = error.isAboutFormat && !cursor.secrets.isEmpty && !self.archive.isVerified(cursor)
            throw isDoubtful ? .wrongPasswordError("This member", error) : error
        }
        if self.hasChecksum { self.archive.markVerified(cursor) }
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
