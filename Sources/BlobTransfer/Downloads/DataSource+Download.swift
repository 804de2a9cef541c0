public import BlobCore
public import BlobPlatform

/// Options for a resumable download.
public struct BlobDownloadOptions: Sendable {
    /// True to start over if the content has changed since the download began; false, the default, throws
    /// ``BlobError/Code/changed``.
    public var restartsIfChanged = false

    /// The digests that the complete content must match. The array is empty by default.
    public var digests: [BlobStatedDigest] = []

    /// The number of connections, from 1 to 16, each of which reads a part of the bytes. The default is 4.
    ///
    /// Fewer connections are used if less than 2 MiB per connection is missing. A single connection is used unless the
    /// source is on a server that supports ranges and states a strong validator. An interruption loses at most the last
    /// 1 MiB of each connection.
    public var connectionCount = 4

    /// Called on the reading thread with the number of bytes in the file and the total; the total is nil if unknown.
    public var onProgress: (@Sendable (_ byteCount: Int64, _ total: Int64?) -> Void)?

    /// Creates the default options.
    public init() {}
}

extension BlobInputStreamDataSource {
    /// Writes all bytes to a file, resuming an earlier interrupted call.
    ///
    /// The earlier call may have been interrupted because its process was killed or the system failed.
    ///
    /// The bytes are written to a file next to `url` with the suffix `.blob-part`, in blocks of 1 MiB whose checksums
    /// are stored in a record next to that file. The file gets its final name once it is complete, matches the digests
    /// and is on the disk. An existing file with matching digests is left unchanged. Reading resumes only if the
    /// content is the same, according to the digests that the options or the server state, or to its validator. With a
    /// weak validator, the last 4 KiB before each gap are compared as well. If a block is damaged, only that block is
    /// read again.
    ///
    /// ```swift
    /// let source = try HTTPSource("https://example.com/model.bin")
    /// try source.write(to: URL(fileURLWithPath: "model.bin"), resuming: BlobDownloadOptions())
    /// ```
    ///
    /// - Parameters:
    ///   - url: A file URL whose folder must exist. An existing file is replaced.
    ///   - options: The options for resuming and checking.
    ///   - context: The context of the job.
    /// - Returns: The number of bytes in the file.
    /// - Throws: ``BlobError/Code/changed`` if the content has changed since the download began;
    ///   ``BlobError/Code/checksumMismatch``, after which the next call starts over; ``BlobError/Code/unavailable``
    ///   while another process writes the file; ``BlobError/Code/invalidArgument`` if `url` exists and is not a regular
    ///   file; the errors of reading and of the file system, after which the next call resumes.
    /// - Complexity: A resumed download reads the existing part once, and once more to compare digests.
    @discardableResult
    public func write(
        to url: URL, resuming options: BlobDownloadOptions, context: BlobContext = BlobContext()
    ) throws(BlobError) -> Int64 {
        precondition(url.isFileURL, "The URL must be a file URL.")
        let context = context.blocking.beginning(.download, of: self)
        return try context.ending { () throws(BlobError) in
            let byteCount = try self.write(to: url.path, options, context)
            context.activity?.advance(read: byteCount)
            return byteCount
        }
    }

    private func write(
        to path: String, _ options: BlobDownloadOptions, _ context: BlobContext
    ) throws(BlobError) -> Int64 {
        try BlobError.wrapping {
            let info = try self.info(context)
            for digests in [options.digests, info.digests]
            where PartialFile.isAlreadyComplete(path, info, digests, context) {
                return FileStatus(at: path)?.byteCount ?? 0
            }
            let file = try PartialFile(
                path, info, options.digests, restarts: options.restartsIfChanged, context)
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

    /// Reads the missing bytes of a file, and compares the digests of the whole file.
    private func complete(
        _ file: PartialFile, _ info: BlobInfo, _ options: BlobDownloadOptions, _ context: BlobContext
    ) throws -> Int64 {
        var known = file.knownByteCount
        let isResumed = known > 0
        options.onProgress?(known, info.byteCount)
        var parts = MissingRangeReader(of: file, self, info, connectionCount: options.connectionCount, context) {
            count, total in
            known += count
            options.onProgress?(known, total)
        }
        try parts.read()
        try file.check(options.digests, context)
        // A single pass over all bytes has already compared the server's digests.
        if isResumed || parts.isParallel {
            let check = try file.check(info.digests, context)
            if parts.isParallel || check != nil, let locator {
                context.reportEnd(of: locator.scheme, byteCount: known, check: check)
            }
        }
        return known
    }
}
