import Foundation

/// A file that appears under its name when it is whole.
package final class AtomicFile {
    private let path: String
    private let descriptor: CInt
    package private(set) var temporaryPath: String?  // Nil once committed, and when the target is written to directly.
    private var isOpen = true

    /// Makes the temporary file.
    package init(path: String) throws(BlobError) {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            // Renaming over a device or a pipe would replace it.
            self.path = path
            self.descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
            guard self.descriptor >= 0 else { throw Self.failure("Could not open", path) }
            return
        }
        let isReplacing = status.st_mode & S_IFMT == S_IFREG
        self.path = isReplacing ? resolved(path) : path
        // Not with `NSString`: on Linux a path of one letter ends the process there (Swift 6.3).
        let scalars = self.path.unicodeScalars
        let nameStart = scalars.lastIndex(of: "/").map { scalars.index(after: $0) } ?? scalars.startIndex
        guard nameStart < scalars.endIndex else {
            throw BlobError(.invalidArgument, "'\(path)' is no name for a file.", operation: .write)
        }
        let name = String(scalars[nameStart...].prefix(Self.maximumNamePrefix))
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        let temporaryPath = "\(String(scalars[..<nameStart])).\(name).\(mark)"
        self.descriptor = Foundation.open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard self.descriptor >= 0 else { throw Self.failure("Could not create a file beside", path) }
        self.temporaryPath = temporaryPath
        if isReplacing { _ = fchmod(self.descriptor, status.st_mode & 0o7777) }
    }

    /// Leaves room for the mark within the 255 bytes of a name, also when each scalar takes four.
    private static let maximumNamePrefix = 50

    deinit { self.discard() }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.path)
    }

    /// Synchronises the bytes to the disk and gives the file its name.
    package func commit() throws(BlobError) {
        if self.temporaryPath != nil, fsync(self.descriptor) != 0 {
            throw Self.failure("Could not synchronise", self.path)
        }
        self.isOpen = false
        guard Foundation.close(self.descriptor) == 0 else { throw Self.failure("Could not close", self.path) }
        guard let temporaryPath else { return }
        guard rename(temporaryPath, self.path) == 0 else { throw Self.failure("Could not name the file", self.path) }
        self.temporaryPath = nil
    }

    /// Removes the file unless it was committed. Twice is fine.
    package func discard() {
        if self.isOpen { _ = Foundation.close(self.descriptor) }
        self.isOpen = false
        if let temporaryPath { _ = unlink(temporaryPath) }
        self.temporaryPath = nil
    }

    private static func failure(_ act: String, _ path: String) -> BlobError {
        var error = BlobError(systemError: errno, doing: "\(act) \(path)")
        error.operation = .write
        return error
    }
}

/// Writes all bytes, going on after short writes and interruptions.
///
/// - Throws: ``BlobError/Code/io`` with the `errno`; how many bytes went out before it is not known.
package func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, named name: String
) throws(BlobError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            if errno == EAGAIN {
                // Somebody else made this descriptor non-blocking; it is theirs too, so wait instead of changing it.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&request, 1, -1)
                continue
            }
            var error = BlobError(systemError: errno, doing: "Could not write to \(name)")
            error.operation = .write
            throw error
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}

/// The target of a symbolic link, so that a write through it does not replace it.
private func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
}
