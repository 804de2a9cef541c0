import BlobCore
import BlobDeflate

extension SevenZipHeader {
    /// A sequential reader of the bytes of a header.
    struct Bytes {
        private let refill: () throws -> [UInt8]
        private var buffer: [UInt8] = []
        private var position = 0
        /// The position in the buffer up to which ``sum`` includes the bytes.
        private var checksummedPosition = 0
        private var sum = CRC32()
        /// The number of bytes read before the start of the buffer.
        private var earlierByteCount: UInt64 = 0
        /// The bytes read while ``isRecording`` was true.
        private(set) var recordedBytes: [UInt8] = []
        var isRecording = false

        init(_ refill: @escaping () throws -> [UInt8]) { self.refill = refill }

        init(_ bytes: some Sequence<UInt8>) {
            self.init { [] }
            self.buffer = Array(bytes)
        }

        init(_ source: any BlobInputStreamDataSource, _ context: BlobContext) throws {
            let reader = try source.open(context: context)
            self.init { try [UInt8](capacity: 1 << 16) { _ = try reader.readBlocking(into: &$0) } }
        }

        /// The number of bytes read so far.
        var byteCount: UInt64 { self.earlierByteCount + UInt64(self.position) }

        /// Returns the CRC-32 of the bytes read so far.
        mutating func checksum() -> UInt32 {
            self.buffer.withUnsafeBytes { buffer in
                self.sum.update(UnsafeRawBufferPointer(rebasing: buffer[self.checksummedPosition..<self.position]))
            }
            self.checksummedPosition = self.position
            return self.sum.value
        }

        private mutating func fill() throws {
            _ = self.checksum()
            self.earlierByteCount += UInt64(self.position)
            self.buffer = try self.refill()
            (self.position, self.checksummedPosition) = (0, 0)
            guard !self.buffer.isEmpty else { throw MalformedHeaderError() }
        }

        mutating func readByte() throws -> UInt8 {
            if self.position == self.buffer.count { try self.fill() }
            defer { self.position += 1 }
            if self.isRecording { self.recordedBytes.append(self.buffer[self.position]) }
            return self.buffer[self.position]
        }

        /// Calls `body` with the next `count` bytes, in one or more parts.
        mutating func readParts(_ count: UInt64, _ body: (ArraySlice<UInt8>) -> Void) throws {
            var rest = count
            while rest > 0 {
                if self.position == self.buffer.count { try self.fill() }
                let part = self.buffer[self.position...].prefix(Int(clamping: rest))
                if self.isRecording { self.recordedBytes += part }
                body(part)
                self.position += part.count
                rest -= UInt64(part.count)
            }
        }

        /// Reads a little-endian number.
        mutating func readFixed<Number: FixedWidthInteger>(_: Number.Type) throws -> Number {
            let count = MemoryLayout<Number>.size
            if self.buffer.count - self.position >= count, !self.isRecording {
                defer { self.position += count }
                return self.buffer.withUnsafeBytes { buffer in
                    Number(littleEndian: buffer.loadUnaligned(fromByteOffset: self.position, as: Number.self))
                }
            }
            var number: Number = 0
            for place in 0..<count { number |= Number(truncatingIfNeeded: try self.readByte()) << Number(8 * place) }
            return number
        }

        mutating func readID() throws -> ID {
            guard let id = ID(rawValue: try self.readByte()) else { throw MalformedHeaderError() }
            return id
        }

        /// Reads a number of variable length.
        ///
        /// The number of leading one bits in the first byte is the number of bytes that follow, lowest byte first. The
        /// bits after the first zero bit are the highest bits of the number.
        mutating func readNumber() throws -> UInt64 {
            let first = try self.readByte()
            let count = (~first).leadingZeroBitCount
            var number: UInt64 = 0
            for index in 0..<count { number |= UInt64(try self.readByte()) << (8 * UInt64(index)) }
            if count < 7 { number |= UInt64(first & (0x7F >> UInt8(count))) << (8 * UInt64(count)) }
            return number
        }
    }
}

/// A writer of the parts of a 7z header.
struct SevenZipHeaderWriter {
    var bytes: [UInt8] = []

    mutating func append(_ ids: SevenZipHeader.ID...) { self.bytes += ids.map(\.rawValue) }

    /// Appends numbers of variable length, in the format of ``SevenZipHeader/Bytes/readNumber()``.
    mutating func append(_ numbers: some Sequence<UInt64>) {
        for number in numbers {
            // Each of the at most 8 bytes after the first uses one bit of the first byte.
            let count = min(8, max(0, number.bitWidth - number.leadingZeroBitCount - 1) / 7)
            let ones = UInt64(0xFF00) >> UInt64(count) & 0xFF
            self.bytes.append(UInt8(ones | number >> UInt64(8 * count)))
            for index in 0..<count { self.bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
        }
    }

    /// Appends a list of checksums, some of which may be missing.
    mutating func append(checksums: some Collection<UInt32?>) {
        self.append(.checksums)
        let areAllThere = checksums.allSatisfy { $0 != nil }
        self.bytes.append(areAllThere ? 1 : 0)
        if !areAllThere {
            var byte: UInt8 = 0
            for (index, checksum) in checksums.enumerated() {
                if checksum != nil { byte |= 0x80 >> UInt8(index & 7) }
                guard index & 7 == 7 || index == checksums.count - 1 else { continue }
                self.bytes.append(byte)
                byte = 0
            }
        }
        for checksum in checksums {
            if let checksum { withUnsafeBytes(of: checksum.littleEndian) { self.bytes += $0 } }
        }
    }
}
