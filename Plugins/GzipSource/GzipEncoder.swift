import BlobCore
import BlobDeflate

/// An encoder of one gzip member (RFC 1952).
///
/// A state machine without I/O. The output depends only on the bytes and the level, because zlib always gets a full
/// input buffer, except for the last one, and an empty output buffer.
struct GzipEncoder: ~Copyable {
    private enum Phase {
        /// The input buffer is being filled.
        case gathering
        /// The input buffer is being encoded.
        case encoding
        /// All input is encoded; some output may not be delivered yet.
        case done
    }

    /// The size of each buffer in bytes: large enough that a read of the base costs little compared with the encoding.
    private static let bufferByteCount = 64 * 1024

    private let input: UnsafeMutableRawBufferPointer
    private let output: UnsafeMutableRawBufferPointer
    private var deflater: Deflater
    private var phase = Phase.gathering
    private var gatheredByteCount = 0
    private var isLastInput = false
    private var rest: UnsafeRawBufferPointer  // The part of `input` to encode.
    private var encoded: UnsafeRawBufferPointer  // The part of `output` to deliver.
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

    /// Returns a header (RFC 1952, section 2.3) without name, time and system, so that it is always the same.
    private static func header(level: Int) -> [UInt8] {
        // XFL as zlib sets it: 2 for the smallest, 4 for the fastest.
        let extraFlags: UInt8 = level == 9 ? 2 : level < 2 ? 4 : 0
        return GzipHeader.identification + [8, 0, 0, 0, 0, 0, extraFlags, 255]
    }

    /// Appends encoded bytes, with the results of a read.
    ///
    /// - Parameter read: Reads bytes to encode.
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

    /// Reads more input once; returns false when there is none for now.
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

    /// Encodes more of the input buffer.
    private mutating func encode() throws(BlobError) {
        var output = OutputRawSpan(buffer: self.output, initializedCount: 0)
        let isAtEnd = try self.deflater.encode(&self.rest, isLast: self.isLastInput, into: &output)
        if isAtEnd {
            // Without room for the trailer, the next call appends it: zlib reports the end again then.
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

    /// The length of the trailer, CRC-32 and ISIZE, in bytes.
    private static let trailerByteCount = 8
}
