#if Command
import BlobTestSupport
import Foundation
import Testing

/// What a standard descriptor of a process is.
enum Standard {
    /// A pipe to this process.
    case pipe
    /// The child's end of the pipe does not block.
    case nonBlockingPipe
    case closed
    case file(CInt)
}

/// A process to start: `blob`, unless told otherwise.
struct Launch {
    var program = Launch.blob
    /// Bytes: a name need not be UTF-8.
    var arguments: [[UInt8]]
    /// Commands of the shell before the program replaces it, such as `cd` and `trap`.
    var prelude: String?
    var blockedSignals: [CInt] = []
    /// Where indexes are kept. Without one there is no index: nothing can be made below a device.
    var caches = "/dev/null"
    var input = Standard.pipe
    var output = Standard.pipe
    var errors = Standard.pipe

    init(_ arguments: String...) { self.init(arguments) }

    init(_ arguments: [String]) { self.arguments = arguments.map { Array($0.utf8) } }

    init(raw arguments: [UInt8]...) { self.arguments = arguments }

    func with(_ change: (inout Launch) -> Void) -> Launch {
        var launch = self
        change(&launch)
        return launch
    }

    func inFolder(_ folder: TemporaryFolder) -> Launch { self.with { $0.prelude = "cd '\(folder.path)'" } }

    func start() throws -> RunningProcess { try RunningProcess(self) }

    /// Runs the process with these bytes as its input, to its end.
    func run(input: [UInt8] = []) throws -> Outcome {
        let process = try self.start()
        process.write(input)
        process.closeInput()
        return process.finish()
    }

    /// The command that was built with these tests.
    static let blob = productsFolder.appendingPathComponent("blob").path
}

/// How a process ended.
enum Ending: Hashable {
    case status(CInt)
    case signal(CInt)
}

/// What a process left.
struct Outcome {
    let output: [UInt8]
    let errors: [UInt8]
    let ending: Ending

    var text: String { String(decoding: self.output, as: UTF8.self) }

    var errorText: String { String(decoding: self.errors, as: UTF8.self) }
}

/// Expects success, these bytes, and silence on standard error.
func expect(_ outcome: Outcome, prints bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(outcome.ending == .status(0), sourceLocation: sourceLocation)
    #expect(outcome.errorText == "", sourceLocation: sourceLocation)
    let isEqual = outcome.output == bytes
    #expect(isEqual, "\(outcome.output.count) bytes, not \(bytes.count)", sourceLocation: sourceLocation)
}

func expect(_ outcome: Outcome, prints text: String, sourceLocation: SourceLocation = #_sourceLocation) {
    expect(outcome, prints: Array(text.utf8), sourceLocation: sourceLocation)
    #expect(outcome.text == text, sourceLocation: sourceLocation)
}

/// Expects one line with this code on standard error, the status, and nothing but `bytes` before it.
func expect(
    _ outcome: Outcome, failsWith code: String, _ status: CInt, saying parts: String..., after bytes: [UInt8] = [],
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let text = outcome.errorText
    #expect(outcome.ending == .status(status), "\(text)", sourceLocation: sourceLocation)
    #expect(text.hasPrefix("blob: \(code): "), "\(text)", sourceLocation: sourceLocation)
    #expect(outcome.errors.last == UInt8(ascii: "\n"), "\(text)", sourceLocation: sourceLocation)
    #expect(outcome.errors.count { $0 < 0x20 || $0 == 0x7F } == 1, "\(text)", sourceLocation: sourceLocation)
    for part in parts { #expect(text.contains(part), sourceLocation: sourceLocation) }
    let isEqual = outcome.output == bytes
    #expect(isEqual, "\(outcome.output.count) bytes, not \(bytes.count)", sourceLocation: sourceLocation)
}

extension TemporaryFolder {
    /// Packs files of the folder into an archive, compressed in the way of its name.
    ///
    /// - Returns: The path of the archive.
    @discardableResult func pack(_ names: [String], into archive: String) throws -> String {
        try self.run("tar", ["--sort=name", "-caf", archive] + names)
        return self.path(archive)
    }
}

/// Opens a file that must be there; a FIFO only once its other end is open too.
func opened(_ path: String, _ flags: CInt) throws -> CInt {
    let descriptor = open(path, flags | O_CLOEXEC)
    try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    return descriptor
}
#endif
