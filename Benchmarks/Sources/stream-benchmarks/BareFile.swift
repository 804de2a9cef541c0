import Foundation

/// Reads the benchmark file with bare system calls.
enum BareFile {
    /// The system calls for one read.
    enum Call {
        case read
        /// `pread(2)`, with an explicit offset.
        case pread
        /// `pread(2)`, and `fstat(2)` after each read, to check that the file is unchanged.
        case preadAndFstat
    }

    /// Reads the file to its end, and checks the total byte count.
    static func drain(by count: Int, _ call: Call = .read) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        let descriptor = open(try FileToRead.path(), O_RDONLY)
        defer { close(descriptor) }
        var (total, status) = (0, stat())
        while case let read = self.next(descriptor, buffer, total, call), read > 0 {
            total += read
            if call == .preadAndFstat { precondition(fstat(descriptor, &status) == 0 && status.st_size >= total) }
        }
        precondition(total == FileToRead.byteCount)
    }

    private static func next(
        _ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int, _ call: Call
    ) -> Int {
        switch call {
        case .read: read(descriptor, buffer.baseAddress, buffer.count)
        case .pread, .preadAndFstat: pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        }
    }
}
