import BlobCore
import BlobDeflate

/// A reader of the bytes of one member, which makes all checks before their end.
final class MemberReader: BlobPluginReader {
    private enum Phase {
        case beginning, data, behind, ended
        case failed(BlobError)
    }

    let info: BlobInfo
    private let format: ArchiveFormat
    private var found: MemberSearch.Found?
    private var phase = Phase.beginning
    /// The bytes in the walker's buffer that are not delivered yet.
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    private var zeroCount: Int64 = 0
    private var byteOffset: Int64 = 0
    private var checksum = CRC32()
    private let context: BlobContext

    init(_ found: MemberSearch.Found, info: BlobInfo, format: ArchiveFormat, _ context: BlobContext = BlobContext()) {
        self.found = found
        self.context = context
        self.info = info
        self.format = format
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if case .failed(let error) = self.phase { throw error }
        let start = output.byteCount
        do {
            try self.readOn(&output)
            return output.byteCount > start ? .bytes : .end
        } catch {
            let error = BlobError(wrapping: error)
            self.phase = .failed(error)
            self.free()
            throw error
        }
    }

    func close() {
        self.phase = .failed(BlobError(.closed, "The reader is closed."))
        self.free()
    }

    private func free() {
        self.block = UnsafeRawBufferPointer(start: nil, count: 0)
        self.found = nil
    }

    private func readOn(_ output: inout OutputRawSpan) throws {
        while true {
            switch self.phase {
            case .ended, .failed: return
            case .behind:
                try self.checkRest()
                self.phase = .ended
                self.context.reportEnd(
                    of: self.format.rawValue, byteCount: self.byteOffset,
                    check: self.found?.checksum != nil ? "CRC-32" : self.found?.walker.check)
                self.free()
                return
            case .beginning, .data: break
            }
            if self.zeroCount > 0 || !self.block.isEmpty { return self.deliver(&output) }
            if try self.readDirectly(&output) { return }
            try self.advance()
        }
    }

    /// Appends bytes without a copy in between; returns false when there are none such.
    private func readDirectly(_ output: inout OutputRawSpan) throws(BlobError) -> Bool {
        guard let found, found.checksum == nil else { return false }
        self.phase = .data
        found.lease?.isRead = true
        let count = try found.walker.readDirectly(into: &output)
        guard count > 0 else { return false }
        self.byteOffset += Int64(count)
        if let byteCount = self.info.byteCount, self.byteOffset > byteCount {
            throw self.wrongSize(byteCount, isMore: true)
        }
        return true
    }

    private func deliver(_ output: inout OutputRawSpan) {
        if self.zeroCount > 0 {
            let count = min(Int(clamping: self.zeroCount), output.freeCapacity)
            output.append(repeating: 0, count: count, as: UInt8.self)
            self.zeroCount -= Int64(count)
            self.byteOffset += Int64(count)
        } else {
            let count = output.append(contentsOf: self.block)
            if self.found?.checksum != nil {
                self.checksum.update(UnsafeRawBufferPointer(rebasing: self.block[..<count]))
            }
            self.block = UnsafeRawBufferPointer(rebasing: self.block.dropFirst(count))
            self.byteOffset += Int64(count)
        }
    }

    /// Takes the next block and the hole before it.
    private func advance() throws(BlobError) {
        let (bytes, byteOffset) = try self.nextBlock()
        let end = byteOffset.addingReportingOverflow(Int64(bytes.count))
        guard byteOffset >= self.byteOffset, !end.overflow else {
            throw BlobError(.corrupted, "Parts of the member overlap at its byte \(byteOffset).")
        }
        if let byteCount = self.info.byteCount {
            guard end.partialValue <= byteCount else {
                throw self.wrongSize(byteCount, isMore: true)
            }
            if bytes.isEmpty, end.partialValue < byteCount { throw self.wrongSize(byteCount, isMore: false) }
        }
        let hole = byteOffset - self.byteOffset
        self.block = bytes
        self.zeroCount = hole
        // The end of the member has an offset, too, which zeros may precede.
        if bytes.isEmpty {
            guard hole > 0 else {
                self.phase = .behind
                return
            }
        }
    }

    private func wrongSize(_ byteCount: Int64, isMore: Bool) -> BlobError {
        let comparison = isMore ? "has more than" : "ends at byte \(self.byteOffset) of"
        return BlobError(.sizeMismatch, "The member \(comparison) the \(byteCount) bytes that the archive says.")
    }

    private func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        guard let found else { throw BlobError(.closed, "The reader is closed.") }
        self.phase = .data
        found.lease?.isRead = true
        return try found.walker.nextBlock()
    }

    /// Makes the checks that are possible only after the member: its checksum, that its name is unique, and the end of
    /// the archive.
    private func checkRest() throws(BlobError) {
        guard let found else { return }
        if let expected = found.checksum, expected != self.checksum.value {
            throw BlobError(
                .checksumMismatch,
                "The CRC-32 of the member is \(String(self.checksum.value, radix: 16)), "
                    + "and the directory of the archive says \(String(expected, radix: 16)).")
        }
        // The pass makes the other checks, for all its members.
        guard found.lease?.pass == nil else { return }
        guard found.walker.isSequential || found.uniqueName != nil else { return }
        var count = 1
        while !self.format.endsWithData, try found.walker.advance() {
            if let name = found.uniqueName, found.walker.isNamed(name) { count += 1 }
        }
        try found.walker.finish()
        if let name = found.uniqueName, count > 1 {
            throw .ambiguous(name, count: count, first: found.member.index)
        }
    }
}
