public import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns all bytes of this source, up to a limit.
    ///
    /// - Parameters:
    ///   - maximumByteCount: The maximum number of bytes to accept, at least 0.
    ///   - context: The context of the job.
    /// - Throws: ``BlobError/Code/limitExceeded`` if there are more bytes, and the errors of reading.
    /// - Complexity: Memory grows with the bytes that have arrived, regardless of the length that the source declares.
    public func data(upTo maximumByteCount: Int, context: BlobContext = BlobContext()) throws(BlobError) -> Data {
        precondition(maximumByteCount >= 0, "The limit must not be negative.")
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        return try BlobError.wrapping {
            // Reads up to one byte more than allowed, to distinguish a blob of exactly the limit's size from a larger
            // one.
            let data = try reader.data(upTo: maximumByteCount < .max ? maximumByteCount + 1 : .max)
            guard data.count <= maximumByteCount else { throw self.lengthError(maximumByteCount) }
            return data
        }
    }

    private func lengthError(_ maximumByteCount: Int) -> BlobError {
        BlobError(
            .limitExceeded, "The blob has more bytes than the limit of \(maximumByteCount).", operation: "read",
            locator: self.locator?.description, byteOffset: Int64(maximumByteCount))
    }

    /// Returns all bytes of this source, as the blocking form does, but without blocking the task's thread.
    public func data(upTo maximumByteCount: Int, context: BlobContext = BlobContext()) async throws -> Data {
        precondition(maximumByteCount >= 0, "The limit must not be negative.")
        var data = Data()
        for try await chunk in self.chunks(context: context) {
            guard chunk.count <= maximumByteCount - data.count else { throw self.lengthError(maximumByteCount) }
            data.append(chunk)
        }
        return data
    }

    /// Returns the bytes of ranges, one element per range, in their order.
    ///
    /// The source receives all ranges at once (``prepare(_:_:)``): a source on the network requests many together, and
    /// reads neighbours with one request.
    ///
    /// ```swift
    /// for try await bytes in source.read(ranges: [0..<4, 512..<1024]) { print(bytes.count) }
    /// ```
    ///
    /// - Parameters:
    ///   - ranges: The offsets of the bytes, in any order; they may overlap.
    ///   - context: The context of each iteration.
    /// - Returns: A sequence that throws ``BlobError/Code/invalidArgument`` for a range that is not within the source,
    ///   and the errors of reading. If the ranges together cover all bytes and the server states a checksum that can be
    ///   computed from ranges (``BlobInfo/digests``), reading the last range throws ``BlobError/Code/checksumMismatch``
    ///   if the bytes have another checksum.
    /// - Complexity: Memory for one range, and for the bytes that the source prepares: 16 MiB for a source on the
    ///   network.
    public func read(
        ranges: [Range<Int64>], context: BlobContext = BlobContext()
    ) -> BlobSequence<Data, BlobError> {
        BlobSequence {
            var next = 0
            return { () async throws(BlobError) in
                if next == 0 { self.prepare(ranges, context) }
                guard next < ranges.count else { return nil }
                let range = ranges[next]
                next += 1
                do {
                    return try await self.slice(range).data(upTo: range.count, context: context)
                } catch {
                    next = ranges.count
                    throw BlobError(wrapping: error)
                }
            }
        }
    }

    /// Writes all bytes to a file, or none of them.
    ///
    /// The bytes are written to a new file beside `url`, which is synchronised to the disk and renamed at the end; on
    /// any error it is removed and an existing file stays unchanged. If `url` names something other than a regular file
    /// (a pipe, a device), the bytes are written to it directly. Peak memory is one buffer of 128 KiB.
    ///
    /// - Parameters:
    ///   - url: A file URL (`isFileURL`); its folder must exist.
    ///   - context: The context of the job.
    /// - Returns: The number of bytes written.
    /// - Throws: The errors of reading, and errors of creating and writing the file, with
    ///   ``BlobError/systemErrorNumber``.
    @discardableResult
    public func write(to url: URL, context: BlobContext = BlobContext()) throws(BlobError) -> Int64 {
        precondition(url.isFileURL, "The URL must be a file URL.")
        let reader = try self.open(context: context.blocking)
        defer { reader.close() }
        let file = try AtomicFile(path: url.path, context)
        try BlobError.wrapping { try reader.forEachPiece { try file.write($0) } }
        try file.commit()
        return reader.byteOffset
    }

    /// Writes all bytes to a file, as the blocking form does, but without blocking the task's thread.
    @discardableResult
    public func write(to url: URL, context: BlobContext = BlobContext()) async throws -> Int64 {
        let context = context.makeChild()
        return try await withTaskCancellationHandler {
            try await BlockingPool.reads.value { () throws(BlobError) in try self.write(to: url, context: context) }
        } onCancel: {
            context.cancellation.cancel()
        }
    }
}

extension BlobReader {
    /// Reads the next `count` bytes, waiting for them; returns fewer only at the end.
    package func bytes(atMost count: Int) throws(BlobError) -> [UInt8] {
        try [UInt8](capacity: count) { output in
            while output.freeCapacity > 0, try self.readBlocking(into: &output) == .bytes {}
        }
    }

    /// Returns the next bytes, fewer than `byteCount` only at the end. Memory grows with the bytes that have arrived.
    func data(upTo byteCount: Int) throws -> Data {
        var data = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(byteCount, 128 * 1024), alignment: 16)
        defer { buffer.deallocate() }
        while data.count < byteCount {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(byteCount - data.count))
            let count = try self.readBlocking(into: room)
            guard count > 0 else { break }
            data.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
        return data
    }
}
