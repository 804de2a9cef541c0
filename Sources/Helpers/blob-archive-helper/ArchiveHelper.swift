internal import CArchive
internal import CHelper
internal import HelperExchange

/// The helper: answers the commands of the process that started it, until that process closes the socket.
final class ArchiveHelper {
    /// The memory for decoding, in bytes, beyond the memory of the program and its libraries: 256 MiB.
    private static let memoryByteCount = 256 << 20

    private let channel: ExchangeChannel
    private let memory: ExchangeMemory
    private let format: String
    private let fault: String?
    private var archive: HelperArchive?
    private var confinement: HelperConfinement = []

    /// Creates the helper of one connection.
    ///
    /// - Parameters:
    ///   - format: The format of the archive to open.
    ///   - fault: A fault for tests, such as `crash:block`.
    init(_ channel: ExchangeChannel, _ memory: ExchangeMemory, format: String, fault: String?) {
        (self.channel, self.memory, self.format, self.fault) = (channel, memory, format, fault)
    }

    func run() {
        // Libraries are loaded, and system data is read, only before the confinement.
        let reason = blob_archive_load().map { String(cString: $0) }
        blob_use_utf8()
        if self.format == "lha" { HelperArchive.loadConversions() }
        self.confinement = .begin(memoryByteCount: Self.memoryByteCount, hasFiles: false)
        // The archive is not freed at the end: that would be one more call that may crash.
        self.channel.serve { self.answer($0, reason) }
    }

    private func answer(_ command: ExchangeFrame, _ reason: String?) -> ExchangeFrame {
        do throws(HelperFailure) {
            switch command.kind {
            case .greet: return self.confinement.frame
            case .open:
                if let reason { throw HelperFailure(.unavailable, reason) }
                try self.fail(at: "open")
                let input = HelperInput(
                    self.channel, self.memory, byteCount: command.b == 0 || command.c < 0 ? nil : command.c,
                    format: self.format)
                self.archive = try HelperArchive(input, format: self.format)
                return ExchangeFrame(.opened, a: ExchangeFrame.version)
            case .next:
                try self.fail(at: "next")
                return try self.openedArchive().next(atMost: command.a)
            case .block:
                try self.fail(at: "block")
                return try self.openedArchive().block(self.memory)
            default: blob_exit(70)
            }
        } catch {
            return error.frame
        }
    }

    private func openedArchive() -> HelperArchive {
        guard let archive else { blob_exit(70) }
        return archive
    }

    private func fail(at moment: String) throws(HelperFailure) {
        if let fault, blob_fault(fault, moment) != 0 { throw .limit }
    }
}
