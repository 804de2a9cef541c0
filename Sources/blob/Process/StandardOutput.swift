#if Command
import BlobPlatform
import BlobStreamsStandard

/// A destination for bytes.
protocol ByteOutput {
    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError)
}

/// Standard output, with an enlarged buffer if it is a pipe.
struct StandardOutput: ByteOutput {
    /// The default maximum size of a user's pipe on Linux, in bytes (`pipe(7)`).
    private static let pipeByteCount: CInt = 1 << 20

    init() { growPipe(STDOUT_FILENO, to: Self.pipeByteCount) }

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: STDOUT_FILENO, named: "standard output")
    }
}

extension AtomicFile: ByteOutput {}

/// Calls `body` with standard output, or with a file that becomes visible only after `body` returns.
///
/// - Parameter path: The path of the file; nil and '-' mean standard output.
func withOutput(to path: String?, _ body: (any ByteOutput) throws -> Void) throws {
    guard let path, path != "-" else { return try body(StandardOutput()) }
    let file = try AtomicFile(path: path)
    Interrupts.setTemporaryPath(file.temporaryPath)
    try body(file)
    try file.commit()
    // Cleared only now, because synchronising may take longer than the time allowed after an interrupt.
    Interrupts.setTemporaryPath(nil)
}

/// Writes result lines to standard output through a buffer, with a progress line that counts them.
final class LineOutput {
    private static let bufferByteCount = 64 * 1024

    private var buffer: [UInt8] = []
    private var lineCount: Int64 = 0
    private let progress: ProgressLine?

    /// - Parameter progress: The progress line that shows the number of lines; nil to show no progress.
    init(_ progress: ProgressLine? = nil) { self.progress = progress }

    func print(_ line: String) throws {
        self.buffer.append(contentsOf: line.utf8)
        self.buffer.append(UInt8(ascii: "\n"))
        self.lineCount += 1
        self.progress?.show(self.lineCount, of: nil)
        if self.buffer.count >= Self.bufferByteCount { try self.flush() }
    }

    func flush() throws {
        // The progress line may be on the same terminal.
        self.progress?.clear()
        try writeAll(self.buffer, to: STDOUT_FILENO, named: "standard output")
        self.buffer.removeAll(keepingCapacity: true)
    }
}

/// Prints to standard error; ignores failures, because they cannot be reported.
func printToStandardError(_ text: String) {
    try? writeAll(Array(text.utf8), to: STDERR_FILENO, named: "standard error")
}

/// Prints a result line; unlike `print`, throws if the line cannot be written.
func printLine(_ line: String) throws(BlobError) { try printLine(Array(line.utf8)) }

/// Prints a line of bytes as ``printLine(_:)`` does, terminated by a zero byte if `isZero` is true.
func printLine(_ line: [UInt8], isZero: Bool = false) throws(BlobError) {
    try writeAll(line + [isZero ? 0 : UInt8(ascii: "\n")], to: STDOUT_FILENO, named: "standard output")
}
#endif
