internal import CArchive
internal import CHelper
internal import HelperExchange

/// The bytes of the archive, which the helper asks for and libarchive reads through callbacks.
final class HelperInput {
    /// The number of bytes asked for after a jump: formats that jump read little in each place.
    private static let jumpByteCount = 64 * 1024

    private let channel: ExchangeChannel
    private let memory: ExchangeMemory
    private let hasRandomAccess: Bool
    private let byteCount: Int64?
    /// The range of the archive that is in the memory.
    private var known: Range<Int64> = 0..<0
    /// The offset in the archive of the next byte for libarchive.
    private var byteOffset: Int64 = 0

    init(_ channel: ExchangeChannel, _ memory: ExchangeMemory, hasRandomAccess: Bool, byteCount: Int64?) {
        (self.channel, self.memory, self.hasRandomAccess, self.byteCount) =
            (channel, memory, hasRandomAccess && byteCount != nil, byteCount)
    }

    /// Returns the next bytes, which stay where they are until the next call; none at the end, nil on failure.
    private func read() -> UnsafeRawBufferPointer? {
        if let byteCount, self.hasRandomAccess, self.byteOffset >= byteCount {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if !self.known.contains(self.byteOffset) {
            let isJump = self.byteOffset != self.known.upperBound
            let wanted = isJump ? Self.jumpByteCount : ExchangeMemory.inputByteCount
            guard (try? self.channel.send(ExchangeFrame(.need, a: self.byteOffset, b: Int64(wanted)))) != nil,
                case .success(let frame) = self.channel.receive(idle: {})
            else { blob_exit(0) }
            guard frame.kind == .bytes, (0...Int64(wanted)).contains(frame.a) else { return nil }
            self.known = self.byteOffset..<(self.byteOffset + frame.a)
        }
        let place = Int(self.byteOffset - self.known.lowerBound)
        let count = Int(self.known.upperBound - self.byteOffset)
        self.byteOffset = self.known.upperBound
        return UnsafeRawBufferPointer(rebasing: self.memory.input[place..<(place + count)])
    }

    /// Moves to the beginning of the archive; returns false without random access.
    func rewind() -> Bool { self.seek(0, SEEK_SET) != nil }

    private func skip(_ byteCount: Int64) -> Int64 {
        guard self.hasRandomAccess, let end = self.byteCount else { return 0 }
        let skipped = max(0, min(byteCount, end - self.byteOffset))
        self.byteOffset += skipped
        return skipped
    }

    private func seek(_ distance: Int64, _ whence: CInt) -> Int64? {
        guard self.hasRandomAccess, let end = self.byteCount else { return nil }
        let origin =
            switch whence {
            case SEEK_SET: Int64(0)
            case SEEK_CUR: self.byteOffset
            default: end
            }
        let (target, overflows) = origin.addingReportingOverflow(distance)
        guard !overflows, target >= 0 else { return nil }
        self.byteOffset = target
        return target
    }

    /// Registers the callbacks, which get an unowned reference to this object.
    func connect(to archive: OpaquePointer) {
        blob_archive_read_set_callback_data(archive, Unmanaged.passUnretained(self).toOpaque())
        blob_archive_read_set_read_callback(archive) { _, client, bytes in
            guard let read = HelperInput.from(client).read() else { return Int(ARCHIVE_FATAL) }
            bytes?.pointee = read.baseAddress
            return read.count
        }
        guard self.hasRandomAccess else { return }
        blob_archive_read_set_skip_callback(archive) { _, client, byteCount in HelperInput.from(client).skip(byteCount)
        }
        blob_archive_read_set_seek_callback(archive) { _, client, distance, whence in
            HelperInput.from(client).seek(distance, whence) ?? Int64(ARCHIVE_FATAL)
        }
    }

    private static func from(_ client: UnsafeMutableRawPointer?) -> HelperInput {
        guard let client else { preconditionFailure("libarchive passes on what it was given.") }
        return Unmanaged<HelperInput>.fromOpaque(client).takeUnretainedValue()
    }
}
