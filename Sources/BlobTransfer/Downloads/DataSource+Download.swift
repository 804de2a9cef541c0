public import BlobCore
public import BlobPlatform

/// How a download goes on with what an earlier one left.
public struct BlobDownloadOptions: Sendable {
    /// True to begin anew when the content is no longer the one that was begun; otherwise that is
    /// ``BlobError/Code/changed``, the default.
    public var restartsIfChanged = false

    /// Digests that all bytes must have; none by default.
    public var digests: [BlobStatedDigest] = []

    /// Called on the reading thread with the number of bytes that are there, and that of all; nil when it is unknown.
    public var onProgress: (@Sendable (_ byteCount: Int64, _ total: Int64?) -> Void)?

    /// Creates the default options.
    public init() {}
}

extension BlobInputStreamDataSource {
    /// Writes all bytes to a file, and goes on with what an earlier call left that was interrupted, if only by the end of
    /// its process or of the system.
    ///
    /// The bytes are in a file beside `url`, with the suffix `.blob-part`, and in blocks of 1 MiB whose checksums are in
    /// a record beside that one; the file gets its name when it is whole, has the right digests and is on the disk.
    /// A file that is there with the right digests stays as it is. Reading goes on only with the same content: by the digests that its server states, by its validator, and by a weak
    /// one after the last 4 KiB before each gap were compared. A block that is damaged is read again alone.
    ///
    /// ```swift
    /// let source = try HTTPSource("https://example.com/model.bin")
    /// try source.write(to: URL(fileURLWithPath: "model.bin"), resuming: BlobDownloadOptions())
    /// ```
    ///
    /// - Parameters:
    ///   - url: A file URL; its folder must exist. An existing file is replaced.
    ///   - options: How to go on.
    ///   - context: The context of the job.
    /// - Returns: The number of bytes of the file.
    /// - Throws: ``BlobError/Code/changed`` when the content is no longer the one that was begun;
    ///   ``BlobError/Code/checksumMismatch``, after which the next call begins anew; ``BlobError/Code/unavailable`` while
    ///   another process writes the file; the errors of reading and of the file system, after which the next call goes
    ///   on.
    /// - Complexity: A resumed download reads the part that is there once, and once more when digests are to be compared.
    @discardableResult
    public func write(
        to url: URL, resuming options: BlobDownloadOptions, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Int64 {
        precondition(url.isFileURL, "Bytes are written to files.")
        return try BlobError.wrapping {
            let context = context.blocking
            let info = try self.info(context)
            for digests in [options.digests, info.digests]
            where PartialFile.isThere(url.path, info, digests, context) {
                return FileStatus(at: url.path)?.byteCount ?? 0
            }
            let file = try PartialFile(url.path, info, restarts: options.restartsIfChanged, context)
            do {
                let byteCount = try self.complete(file, info, options, context)
                try file.commit()
                return byteCount
            } catch let error as BlobError where error.code == .checksumMismatch && !error.isTransient {
                file.discard()
                throw error
            }
        }
    }

    /// Reads what is missing of a file, and compares the digests of all of it.
    private func complete(
        _ file: PartialFile, _ info: BlobInfo, _ options: BlobDownloadOptions, _ context: BlobContext
    ) throws -> Int64 {
        var known = file.knownByteCount
        let isResumed = known > 0
        options.onProgress?(known, info.byteCount)
        for run in file.missing {
            try self.read(run, of: info, into: file, context) { byteCount in
                known += Int64(byteCount)
                options.onProgress?(known, info.byteCount)
            }
        }
        try file.check(options.digests, context)
        // A pass over all bytes has compared those of the server.
        if isResumed { try file.check(info.digests, context) }
        return known
    }

    /// Reads a run of missing bytes into a file.
    private func read(
        _ run: (start: Int64, end: Int64?), of info: BlobInfo, into file: PartialFile, _ context: BlobContext,
        _ onBytes: (Int) -> Void
    ) throws {
        let isStrong = info.validator?.isStrong ?? !info.digests.isEmpty
        let overlap = isStrong ? [] : try file.bytes(before: run.start, count: DeliveredBytes.lastByteCount)
        let reader = try self.open(
            at: run.start - Int64(overlap.count), matching: info.validator, context: context)
        defer { reader.close() }
        guard try reader.bytes(atMost: overlap.count) == overlap else {
            throw BlobError(
                .changed, "The content is no longer the one of which there is a part.", operation: "read",
                locator: self.locator?.description, byteOffset: run.start)
        }
        try file.seek(to: run.start)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)
        defer { buffer.deallocate() }
        var rest = run.end.map { $0 - run.start } ?? .max
        while rest > 0 {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: rest)))
            let count = try reader.readWaiting(into: room)
            guard count > 0 else { break }
            try file.append(UnsafeRawBufferPointer(rebasing: room[..<count]))
            rest -= Int64(count)
            onBytes(count)
        }
        try file.end()
    }
}
