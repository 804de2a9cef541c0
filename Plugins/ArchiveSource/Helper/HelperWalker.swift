import BlobCore
import BlobHelper
import HelperExchange

/// A walker over an archive that a helper process reads.
final class HelperWalker: EntryWalker {
    private let format: ArchiveFormat
    private let base: BaseCursor
    private let context: BlobContext
    private let process: HelperProcess
    /// True if the archive is read in one pass, although the helper may request any part of it.
    private let isInOrder: Bool
    private let source: any BlobInputStreamDataSource
    private(set) var current: ArchiveEntry?
    /// The members that the helper has passed and this walker has not; their bytes cannot be read.
    private var passedEntries: ArraySlice<ExchangedEntry> = []
    /// The index of the first member whose bytes may be read.
    private var firstReadIndex = 0
    /// The offset in the member after the last returned byte.
    private var dataEnd: Int64 = 0
    /// The offset in the archive after the last byte sent to the helper.
    private var suppliedEnd: Int64 = 0
    /// The number of bytes last sent to the helper.
    private var lastSuppliedCount = 0
    /// The numbers of bytes sent to the helper, and returned by it.
    private var (suppliedByteCount, decodedByteCount) = (Int64(0), Int64(0))

    /// - Parameter needsConfinement: True to use the helper only if the system confines it.
    /// - Throws: ``BlobError/Code/unavailable`` if the program at `path` is not a helper of this version;
    ///   ``BlobError/Code/unsupported`` if the helper must be confined and is not; the errors thrown by
    ///   ``HelperProcess``.
    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext, _ path: String,
        _ arguments: [String] = [], needsConfinement: Bool
    ) throws(BlobError) {
        self.format = format
        (self.source, self.isInOrder) = format.sourceInOrder(base)
        self.base = try BaseCursor(self.source, context)
        self.context = context
        self.process = try HelperProcess(path, [format.rawValue] + arguments, context)
        let confinement = try self.process.confinement()
        if needsConfinement, let missing = confinement.missingConfinement {
            throw format.missingHelperError(
                "the system does not confine it: \(missing)",
                readable: "by an unconfined helper, at the risk that a damaged archive exploits it")
        }
        let command = ExchangeFrame(
            .open, a: ExchangeFrame.version, b: self.base.hasRandomAccess ? 1 : 0, c: self.base.info.byteCount ?? -1)
        do throws(BlobError) {
            _ = try self.ask(command, .opened)
        } catch  where error.code == .corrupted && self.suppliedEnd == 0 && self.process.failure != nil {
            throw BlobError(
                .unavailable, "The helper \(path) cannot be used: \(error.message)", isTransient: false, cause: error)
        }
    }

    var baseInfo: BlobInfo { self.base.info }
    var isSequential: Bool { self.isInOrder || !self.base.hasRandomAccess }
    var check: String? { self.format.memberChecksum }

    func advance() throws(BlobError) -> Bool {
        if self.passedEntries.isEmpty {
            let count = max(1, min(self.firstReadIndex, self.index + ExchangedEntry.maximumCount) - self.index)
            let answer = try self.ask(ExchangeFrame(.next, a: Int64(count)), .entries, .end)
            guard answer.kind == .entries else {
                if let error = self.current?.incompletenessError { throw error }
                try self.checkEnd(answer.a)
                return false
            }
            guard let entries = ExchangedEntry.decode(answer.payload), (1...count).contains(entries.count) else {
                throw self.malformedAnswerError
            }
            self.passedEntries = entries[...]
        }
        self.current = ArchiveEntry(self.passedEntries.removeFirst(), after: self.current)
        self.dataEnd = 0
        return true
    }

    func willRead(from index: Int) { self.firstReadIndex = index }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        guard self.passedEntries.isEmpty else {
            throw BlobError(.internalError, "A member is read of which only the header was wanted.")
        }
        try self.context.checkRatio(ofDecoded: self.decodedByteCount, to: self.suppliedByteCount)
        let answer = try self.ask(ExchangeFrame(.block), .data, .end)
        guard answer.a >= 0 else { throw self.malformedAnswerError }
        guard answer.kind == .data else { return self.end(at: answer.a) }
        guard let bytes = self.process.memory.bytes(at: answer.b, count: answer.c), !bytes.isEmpty,
            case let end = answer.a.addingReportingOverflow(answer.c), !end.overflow
        else { throw self.malformedAnswerError }
        self.dataEnd = end.partialValue
        self.decodedByteCount += Int64(bytes.count)
        return (bytes, answer.a)
    }

    /// Checks that only zeros, as left by tapes and disks, or the signature of a self-extracting program, follow the
    /// end of the archive.
    private func checkEnd(_ byteOffset: Int64) throws(BlobError) {
        guard self.format.endsWithMark, !self.source.followsProgram else { return }
        guard (0...self.suppliedEnd).contains(byteOffset) else { throw self.malformedAnswerError }
        let buffer = self.process.memory.input
        // Unused bytes of the last part sent to the helper are still in the shared memory.
        let rest = self.lastSuppliedCount - Int(clamping: self.suppliedEnd - byteOffset)
        var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        if self.base.hasRandomAccess {
            try self.base.go(to: byteOffset, buffer)
        } else if rest >= 0, rest < self.lastSuppliedCount {
            bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[rest..<self.lastSuppliedCount])
        }
        repeat {
            guard bytes.allSatisfy({ $0 == 0 }) else { throw BlobError(trailingDataAfter: self.format, at: byteOffset) }
            try self.context.check()
            let count = try self.base.read(into: buffer)
            bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
        } while !bytes.isEmpty
    }

    func finish() throws(BlobError) {
        if !self.base.hasRandomAccess { try self.base.drain(self.process.memory.input) }
    }

    /// Sends a command, and returns the answer, which must be of one of the expected kinds.
    private func ask(
        _ command: ExchangeFrame, _ kinds: ExchangeFrame.Kind...
    ) throws(BlobError) -> ExchangeFrame {
        let answer: ExchangeFrame
        do throws(BlobError) {
            answer = try self.process.answer(to: command, kinds) { (byteOffset, count) throws(BlobError) in
                let room = UnsafeMutableRawBufferPointer(rebasing: self.process.memory.input[..<count])
                let read = try self.read(at: byteOffset, into: room)
                self.suppliedEnd = byteOffset + Int64(read)
                self.suppliedByteCount += Int64(read)
                if read > 0 { self.lastSuppliedCount = read }
                return read
            }
        } catch {
            throw self.addingLocation(to: error)
        }
        guard answer.kind == .error else { return answer }
        guard let failure = ExchangeFrame.Failure(rawValue: answer.a) else {
            throw self.malformedAnswerError
        }
        throw self.error(failure, answer.payload)
    }

    /// Reads at least one byte at an offset into a buffer; returns the number of bytes, 0 at the end of the base.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the helper requests an unreachable offset, which it never needs.
    private func read(at byteOffset: Int64, into room: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        try self.context.check()
        if self.base.hasRandomAccess {
            guard byteOffset < self.base.info.byteCount ?? .max else { return 0 }
            try self.base.go(to: byteOffset, room)
        }
        guard byteOffset == self.base.byteOffset else {
            throw BlobError(
                .corrupted, "The helper requested bytes at an offset that cannot be reached.", byteOffset: byteOffset)
        }
        return try self.base.read(into: room)
    }

    private var label: String { "\(self.format.rawValue) archive" }

    private var malformedAnswerError: BlobError {
        BlobError(.corrupted, "The helper that reads the \(self.label) sent an invalid response.")
    }

    private func error(_ failure: ExchangeFrame.Failure, _ text: [UInt8]) -> BlobError {
        let text = String(decoding: text, as: UTF8.self)
        return switch failure {
        case .library: BlobError(libraryMessage: text.isEmpty ? nil : text, label: self.label)
        case .unavailable: BlobError(.unavailable, "The \(self.label) cannot be read: \(text).", isTransient: false)
        case .limit: BlobError(.limitExceeded, "The \(self.label) cannot be read by the helper: \(text).")
        case .truncated: BlobError(.truncated, "The \(self.label) ends too early: \(text).")
        }
    }

    /// Returns an error of the helper with the helper's position in the archive.
    private func addingLocation(to error: BlobError) -> BlobError {
        guard error.code == .corrupted, error.byteOffset == nil else { return error }
        let member = self.current?.member
        let place =
            member.map { "byte \(self.dataEnd) of its member \($0.index), \($0.printableName)" } ?? "its beginning"
        return BlobError(
            .corrupted, "The \(self.label) cannot be read at \(place): \(error.message)", byteOffset: self.suppliedEnd,
            cause: error.cause)
    }
}
