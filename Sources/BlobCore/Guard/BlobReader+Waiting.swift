extension BlobReader {
    /// Reads at most `byteCount` bytes, for streams that end before their base does.
    ///
    /// - Parameters:
    ///   - output: The memory to which the bytes are appended.
    ///   - byteCount: The maximum number of bytes to append; with 0 or less, nothing is read and the result is `bytes`.
    public func read(into output: inout OutputRawSpan, atMost byteCount: Int) throws -> BlobReadResult {
        var result = BlobReadResult.bytes
        try output.append(atMost: byteCount) { part in
            if part.freeCapacity > 0 { result = try self.read(into: &part) }
        }
        return result
    }

    /// Reads the next bytes, waiting while there are none; never returns ``BlobReadResult/notYet``.
    ///
    /// - Throws: As ``read(into:)``; ``BlobError/Code/misbehavingPlugin`` on the thread that waits for descriptors and
    ///   timers, because waiting there would stop all others.
    public func readWaiting(into output: inout OutputRawSpan) throws -> BlobReadResult {
        while true {
            let result = try self.read(into: &output)
            guard result == .notYet else { return result }
            try self.block()
        }
    }

    /// As ``peek(_:)``, waiting until the bytes are there.
    package func peekWaiting(_ byteCount: Int) throws -> BlobBytes {
        while true {
            if let bytes = try self.peek(byteCount) { return bytes }
            try self.block()
        }
    }

    private func block() throws {
        guard !EventLoop.isCurrentThread else {
            throw self.fail(BlobError(.misbehavingPlugin, "A read waits on the thread that calls wakers."))
        }
        self.whenReadable(self.changeWait { $0.unblocker() })
        self.wait.block()
    }

    /// Reads the next bytes into memory that the caller owns, waiting while there are none.
    ///
    /// - Parameter buffer: The memory, filled from the front; an empty one reads nothing.
    /// - Returns: The number of bytes read; 0 means the end when the buffer has room.
    public func readWaiting(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
        _ = try self.readWaiting(into: &output)
        return output.finalize(for: buffer)
    }
}
