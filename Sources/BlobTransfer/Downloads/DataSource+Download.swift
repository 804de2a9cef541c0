public import BlobCore
public import BlobPlatform

/// How a download goes on with what an earlier one left.
public struct BlobDownloadOptions: Sendable {
    /// True to begin anew when the content is no longer the one that was begun; otherwise that is
    /// ``BlobError/Code/changed``, the default.
    public var restartsIfChanged = false

    /// Digests that all bytes must have; none by default.
    public var digests: [BlobStatedDigest] = []

    /// The number of connections, from 1 to 16, each of which reads a part of the bytes; 4 by default.
    ///
    /// Fewer when less than 2 MiB are missing for each, and one from a source other than a server with ranges and a strong
    /// validator. An interruption costs at most the last 1 MiB of each.
    public var connectionCount = 4

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
    /// A file that is there with the right digests stays as it is. Reading goes on only with the same content: by the
    /// digests that the options or its server state, by its validator, and by a weak one after the last 4 KiB before each
    /// gap were compared. A block that is damaged is read again alone.
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
            let file = try PartialFile(
                url.path, info, options.digests, restarts: options.restartsIfChanged, context)
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
        var parts = MissingParts(of: file, self, info, connectionCount: options.connectionCount, context) {
            count, total in
            known += count
            options.onProgress?(known, total)
        }
        try parts.read()
        try file.check(options.digests, context)
        // A pass over all bytes has compared those of the server.
        if isResumed || parts.isParallel {
            let check = try file.check(info.digests, context)
            if parts.isParallel || check != nil, let locator {
                context.reportEnd(of: locator.scheme, byteCount: known, check: check)
            }
        }
        return known
    }
}
