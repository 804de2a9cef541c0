import BlobInflate
import BlobStreams

/// Encodes bytes as one gzip member (RFC 1952).
///
/// A state machine that does no I/O of its own. What it makes depends on the bytes and the level alone: zlib gets them
/// from a buffer that is full but for the last time, and writes into one that is empty.
struct GzipEncoder: ~Copyable {
    private enum Phase {
        /// Input is gathered.
        case gathering
        /// What was gathered is encoded.
        case encoding
        /// All is encoded, if not fetched.
        case done
    }

    /// Large enough that a call of the base costs little beside encoding what it brought.
    private static let bufferByteCount = 64 * 1024

    private let input: UnsafeMutableRawBufferPointer
    private let output: UnsafeMutableRawBufferPointer
    private var deflater: Deflater
    private var phase = Phase.gathering
    private var gatheredByteCount = 0
    private var isLastInput = false
    private var rest: UnsafeRawBufferPointer  // Of the input: what is to be encoded.
    private var encoded: UnsafeRawBufferPointer  // Of the output: what is to be fetched.
    private var sum = CRC32()
    private var byteCount: UInt32 = 0

    init(level: Int) throws(BlobError) {
        self.deflater = try Deflater(level: level)
        self.input = .allocate(byteCount: Self.bufferByteCount, alignment: 64)
        self.output = .allocate(byteCount: Self.bufferByteCount, alignment: 64)
        self.rest = UnsafeRawBufferPointer(rebasing: self.input[..<0])
        let header = Self.header(level: level)
        self.output.copyBytes(from: header)
        self.encoded = UnsafeRawBufferPointer(rebasing: self.output[..<header.count])
    }

    deinit {
        self.input.deallocate()
        self.output.deallocate()
    }

    /// RFC 1952, section 2.3: no name, no time, and no system, so that it is always the same.
    private static func header(level: Int) -> [UInt8] {
        // XFL as zlib sets it: 2 for the smallest, 4 for the fastest.
        let extraFlags: UInt8 = level == 9 ? 2 : level < 2 ? 4 : 0
        return GzipHeader.identification + [8, 0, 0, 0, 0, 0, extraFlags, 255]
    }

    /// Appends some encoded bytes, as a read does.
    ///
    /// - Parameter read: Reads what is to be encoded.
    mutating func encode(
        into output: inout OutputRawSpan, reading read: (inout OutputRawSpan) throws -> BlobReadResult
    ) throws -> BlobReadResult {
        while self.encoded.isEmpty {
            switch self.phase {
            case .gathering: guard try self.gather(read) else { return .notYet }
            case .encoding: try self.encode()
            case .done: return .end
            }
        }
        let count = output.append(contentsOf: self.encoded)
        self.encoded = UnsafeRawBufferPointer(rebasing: self.encoded[count...])
        return .bytes
    }

    /// Takes one more piece of input; false when there is none for now.
    mutating func gather(_ read: (inout OutputRawSpan) throws -> BlobReadResult) rethrows -> Bool {
        var input = OutputRawSpan(buffer: self.input, initializedCount: self.gatheredByteCount)
        let result = try read(&input)
        self.gatheredByteCount = input.finalize(for: self.input)
        if result == .notYet { return false }
        self.isLastInput = result == .end
        guard self.isLastInput || self.gatheredByteCount == self.input.count else { return true }
        self.rest = UnsafeRawBufferPointer(rebasing: self.input[..<self.gatheredByteCount])
        self.sum.update(self.rest)
        self.byteCount &+= UInt32(self.gatheredByteCount)
        self.gatheredByteCount = 0
        self.phase = .encoding
        return true
    }

    /// Encodes more of what was gathered.
    private mutating func encode() throws(BlobError) {
        var output = OutputRawSpan(buffer: self.output, initializedCount: 0)
        let isAtEnd = try self.deflater.encode(&self.rest, isLast: self.isLastInput, into: &output)
        if isAtEnd {
            // Where the trailer has no room any more it is made the next time: the end is said again then.
            if output.freeCapacity >= Self.trailerByteCount {
                output.append(self.sum.value.littleEndian, as: UInt32.self)
                output.append(self.byteCount.littleEndian, as: UInt32.self)
                self.phase = .done
            }
        } else if output.freeCapacity > 0 {
            self.phase = .gathering
        }
        self.encoded = UnsafeRawBufferPointer(rebasing: self.output[..<output.finalize(for: self.output)])
    }

    /// CRC-32 and ISIZE.
    private static let trailerByteCount = 8
}
