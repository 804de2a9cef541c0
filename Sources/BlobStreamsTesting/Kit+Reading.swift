import BlobCore
import BlobPlatform

extension Kit {
    /// The capacities of reads: the smallest, odd ones, and capacities of real consumers.
    private static let capacities = [1, 2, 3, 7, 64, 4096, 65536]

    /// The number of reads with a small capacity; the rest of a large source is read with a large capacity.
    private static let smallReadCount = 2048

    private static let largeCapacity = 1 << 20
    private static let chunkByteCount = 64 * 1024

    func open(
        at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, capacity: Int = 4096,
        context: BlobContext = BlobContext()
    ) throws -> Pass {
        let reader = try self.makeSource().open(at: byteOffset, matching: validator, context: context)
        return Pass(reader, self, capacity: capacity, waiting: context)
    }

    /// C1, C8, C9, C11: reads return all bytes, regardless of their capacity.
    func checkReads() throws {
        var identity: BlobValidator?
        for capacity in Self.capacities {
            // A source that is too large to be held in memory is read only once.
            if self.expected.byteCount > 64 << 20, capacity != Self.capacities.last { continue }
            let pass = try self.open(capacity: max(capacity, Self.largeCapacity))
            var readCount = 0
            reading: while true {
                let room = readCount < Self.smallReadCount ? capacity : Self.largeCapacity
                readCount += 1
                switch try pass.step(atMost: room) {
                case .end: break reading
                case .bytes(let bytes):
                    if pass.matchesExpectation(bytes) { continue }
                    let byteOffset = pass.reader.byteOffset - Int64(bytes.count)
                    self.findings.add(
                        8, "Wrong bytes in the read at byte \(byteOffset), with room for \(capacity) bytes.")
                    if let validator = pass.reader.info.validator, validator.isStrong, validator == identity {
                        self.findings.add(11, "Two openings have the same strong validator but different bytes.")
                    }
                    return
                }
            }
            if pass.reader.byteOffset != self.expected.byteCount {
                let end = "The end came at byte \(pass.reader.byteOffset) of \(self.expected.byteCount)"
                self.findings.add(8, "\(end) in a read with room for \(capacity) bytes, without an error.")
            }
            identity = identity ?? pass.reader.info.validator
        }
    }

    /// C10: modifying a received chunk does not affect later readers.
    func checkChunks() throws {
        let source = try self.makeSource()
        for isFirst in [true, false] where isFirst || source.traits.contains(.repeatable) {
            // Read in the same way as chunks, so that a plugin's own memory is handed out.
            let reader = try source.withoutBlocking.open()
            let pass = Pass(reader, self, capacity: 1)
            while reader.byteOffset < Self.largeCapacity {
                let byteOffset = reader.byteOffset
                var result = BlobReadResult.end
                var chunk = try Data(readingAtMost: Self.chunkByteCount, from: reader, &result)
                guard self.expected.agrees(with: chunk, at: byteOffset) else {
                    let cause = isFirst ? "" : ", after another reader's chunks were changed"
                    return self.findings.add(
                        isFirst ? 8 : 10, "Wrong bytes in the chunk at byte \(byteOffset)\(cause).")
                }
                for index in chunk.indices { chunk[index] = ~chunk[index] }
                if result == .end { break }
                if result == .notYet { try pass.waitUntilReadable() }
            }
        }
    }

    /// C4: a reader does not write to a buffer after the call that lent it.
    func checkBuffers() throws {
        let poison: UInt8 = 0xA5
        let first = try self.open(capacity: 64)
        guard case .bytes = try first.step() else { return }
        let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
        defer { lent.deallocate() }
        _ = try first.read(into: lent)
        lent.initializeMemory(as: UInt8.self, repeating: poison)
        for _ in 0..<4 where lent.allSatisfy({ $0 == poison }) { _ = try first.step() }
        first.reader.close()
        if !lent.allSatisfy({ $0 == poison }) {
            self.findings.add(4, "A buffer was written to after its read had returned.")
        }
    }

    /// C8: the declared byte count is the actual one.
    func checkInfo() throws {
        let source = try self.makeSource()
        let info = try source.info(BlobContext())
        let pass = try self.open()
        _ = try pass.step()
        for (place, byteCount) in [("the info", info.byteCount), ("a reader", pass.reader.info.byteCount)] {
            guard let byteCount, byteCount != self.expected.byteCount else { continue }
            self.findings.add(
                8, "The byte count of \(place) is \(byteCount), but the source has \(self.expected.byteCount) bytes.")
        }
    }
}
