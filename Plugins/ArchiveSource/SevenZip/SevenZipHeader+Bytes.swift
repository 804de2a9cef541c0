import BlobCore

extension SevenZipHeader {
    /// A sequential view of the bytes of a header.
    struct Bytes {
        private let refill: () throws -> [UInt8]
        private var buffer: [UInt8] = []
        private var position = 0
        /// The bytes that were read while ``records`` was true.
        private(set) var recorded: [UInt8] = []
        var records = false

        init(_ refill: @escaping () throws -> [UInt8]) { self.refill = refill }

        init(_ source: any BlobInputStreamDataSource, _ context: BlobContext) throws {
            let reader = try source.open(context: context)
            self.init {
                try [UInt8](unsafeUninitializedCapacity: 1 << 14) { buffer, count in
                    count = try reader.readWaiting(into: UnsafeMutableRawBufferPointer(buffer))
                }
            }
        }

        mutating func byte() throws -> UInt8 {
            if self.position == self.buffer.count {
                self.buffer = try self.refill()
                self.position = 0
                guard !self.buffer.isEmpty else { throw Malformed() }
            }
            defer { self.position += 1 }
            if self.records { self.recorded.append(self.buffer[self.position]) }
            return self.buffer[self.position]
        }

        mutating func id() throws -> ID {
            guard let id = ID(rawValue: try self.byte()) else { throw Malformed() }
            return id
        }

        /// Reads a number. The leading one bits of the first byte count the bytes that follow, lowest first; the bits
        /// after its first zero bit are the highest of the number.
        mutating func number() throws -> UInt64 {
            let first = try self.byte()
            let count = (~first).leadingZeroBitCount
            var number: UInt64 = 0
            for index in 0..<count { number |= UInt64(try self.byte()) << (8 * UInt64(index)) }
            if count < 7 { number |= UInt64(first & (0x7F >> UInt8(count))) << (8 * UInt64(count)) }
            return number
        }
    }
}

extension BlobInputStreamDataSource {
    /// Returns the first bytes, fewer only when the source has fewer.
    func beginning(_ byteCount: Int, _ context: BlobContext) throws(BlobError) -> [UInt8] {
        let reader = try self.open(context: context)
        defer { reader.close() }
        do {
            return try [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                while count < byteCount {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let more = try reader.readWaiting(into: rest)
                    if more == 0 { break }
                    count += more
                }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}

extension BlobGuardedReader {
    /// Returns the info before the first read; while an event-driven reader is still opening, the info of its source
    /// `base`.
    func info(of base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) -> BlobInfo {
        self.isOpen ? self.info : try base.info(context)
    }
}
