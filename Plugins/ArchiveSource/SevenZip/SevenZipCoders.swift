import BlobCore

/// The coders of a folder, and how their streams are joined (7zFormat.txt, "Folder").
struct SevenZipCoders {
    private struct Coder {
        var method: [UInt8] = []
        var inputCount = 1
        var outputCount = 1
        var properties: [UInt8] = []
    }

    private static let (copy, aes): ([UInt8], [UInt8]) = ([0], [0x06, 0xF1, 0x07, 0x01])

    private var coders: [Coder] = []
    /// The inputs that are the output of another coder.
    private var pairs: [(input: Int, output: Int)] = []
    /// The inputs that are packed streams, in the order of these.
    private var packed: [Int] = []
    /// The unpacked size of each output in bytes.
    private(set) var byteCounts: [UInt64]
    /// The size of each packed stream in bytes.
    private(set) var packedByteCounts: [UInt64]

    /// - Throws: ``SevenZipHeader/Malformed``.
    init(
        _ description: ArraySlice<UInt8>, byteCounts: ArraySlice<UInt64>, packedByteCounts: ArraySlice<UInt64>
    ) throws {
        (self.byteCounts, self.packedByteCounts) = (Array(byteCounts), Array(packedByteCounts))
        var bytes = SevenZipHeader.Bytes(description)
        for _ in 0..<(try bytes.number()) {
            let flags = try bytes.byte()
            var coder = Coder()
            try bytes.parts(UInt64(flags & 0x0F)) { coder.method += $0 }
            if flags & 0x10 != 0 {
                coder.inputCount = Int(clamping: try bytes.number())
                coder.outputCount = Int(clamping: try bytes.number())
            }
            if flags & 0x20 != 0 { try bytes.parts(try bytes.number()) { coder.properties += $0 } }
            self.coders.append(coder)
        }
        let inputCount = self.coders.reduce(0) { $0 + $1.inputCount }
        for _ in 1..<max(1, self.byteCounts.count) {
            self.pairs.append((Int(clamping: try bytes.number()), Int(clamping: try bytes.number())))
        }
        if self.packedByteCounts.count == 1 {
            self.packed = [Int](
                (0..<inputCount).filter { input in !self.pairs.contains { $0.input == input } }.prefix(1))
        } else {
            for _ in self.packedByteCounts { self.packed.append(Int(clamping: try bytes.number())) }
        }
    }

    func write(to header: inout SevenZipHeaderWriter) {
        header.append([UInt64(self.coders.count)])
        for coder in self.coders {
            let isSimple = (coder.inputCount, coder.outputCount) == (1, 1)
            let flags = (isSimple ? 0 : 0x10) | (coder.properties.isEmpty ? 0 : 0x20)
            header.bytes += [UInt8(coder.method.count | flags)] + coder.method
            if !isSimple { header.append([UInt64(coder.inputCount), UInt64(coder.outputCount)]) }
            guard !coder.properties.isEmpty else { continue }
            header.append([UInt64(coder.properties.count)])
            header.bytes += coder.properties
        }
        header.append(self.pairs.flatMap { [UInt64($0.input), UInt64($0.output)] })
        if self.packed.count > 1 { header.append(self.packed.map(UInt64.init)) }
    }

    /// True when a coder reads what was decrypted and refuses nearly all bytes that were encrypted with another key, so
    /// that none of them come out: each but those that copy, and the models of PPMd.
    private static let checkingMethods: [[UInt8]] = [
        [0x21], [0x03, 0x01, 0x01], [0x04, 0x01, 0x08], [0x04, 0x02, 0x02],
    ]

    /// True when decoding shows at once that bytes were decrypted with another key.
    var refuseOtherBytes: Bool { self.coders.contains { Self.checkingMethods.contains($0.method) } }

    /// Removes the coders that decrypt: their outputs become packed streams.
    ///
    /// - Returns: The encryption of each packed stream, nil for one without; nil when the encryption is of another
    ///   kind, or encrypted bytes are not packed streams.
    mutating func removeEncryption() -> [SevenZipEncryption?]? {
        var encryptions = [SevenZipEncryption?](repeating: nil, count: self.packed.count)
        var removed: Set<Int> = []
        var (input, output) = (0, 0)
        for (index, coder) in self.coders.enumerated() {
            defer { (input, output) = (input + coder.inputCount, output + coder.outputCount) }
            guard coder.method == Self.aes else { continue }
            guard (coder.inputCount, coder.outputCount) == (1, 1), output < self.byteCounts.count,
                let place = self.packed.firstIndex(of: input), encryptions[place] == nil,
                let encryption = SevenZipEncryption(coder.properties)
            else { return nil }
            encryptions[place] = encryption
            self.packedByteCounts[place] = self.byteCounts[output]
            if let pair = self.pairs.firstIndex(where: { $0.output == output }) {
                self.packed[place] = self.pairs.remove(at: pair).input
                removed.insert(index)
            } else {
                // The decrypted bytes are the content itself.
                self.coders[index] = Coder(method: Self.copy)
            }
        }
        return self.remove(removed) ? encryptions : nil
    }

    /// The branch filter of a folder.
    struct Branch {
        let method: UInt64
        let startOffset: UInt32
    }

    /// Removes the coder whose output is the content, if it is a branch filter that liblzma decodes.
    ///
    /// - Returns: The filter; nil when there is none, or it is joined in another way.
    mutating func removeBranch() -> Branch? {
        var (input, output) = (0, 0)
        for (index, coder) in self.coders.enumerated() {
            defer { (input, output) = (input + coder.inputCount, output + coder.outputCount) }
            let method = coder.method.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard coder.method.count == 1, SevenZipMethod.branches.contains(method) else { continue }
            // The properties are nothing, or the address of the first byte.
            guard (coder.inputCount, coder.outputCount) == (1, 1), [0, 4].contains(coder.properties.count),
                !self.pairs.contains(where: { $0.output == output })
            else { return nil }
            let start = coder.properties.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            if let pair = self.pairs.firstIndex(where: { $0.input == input }) {
                self.pairs.remove(at: pair)
                guard self.remove([index]) else { return nil }
            } else {
                self.coders[index] = Coder(method: Self.copy)
            }
            return Branch(method: method, startOffset: start)
        }
        return nil
    }

    /// Removes coders, whose streams are joined to none any more; returns false when that leaves others without theirs.
    private mutating func remove(_ removed: Set<Int>) -> Bool {
        var (inputs, outputs): ([Int?], [Int?]) = ([], [])
        // The streams of the other coders are numbered again.
        for (index, coder) in self.coders.enumerated() {
            let isKept = !removed.contains(index)
            for _ in 0..<coder.inputCount { inputs.append(isKept ? inputs.count { $0 != nil } : nil) }
            for _ in 0..<coder.outputCount { outputs.append(isKept ? outputs.count { $0 != nil } : nil) }
        }
        func renumber(_ index: Int, _ numbers: [Int?]) -> Int? {
            numbers.indices.contains(index) ? numbers[index] : nil
        }
        let pairs = self.pairs.compactMap { pair in
            renumber(pair.input, inputs).flatMap { input in renumber(pair.output, outputs).map { (input, $0) } }
        }
        let packed = self.packed.compactMap { renumber($0, inputs) }
        guard pairs.count == self.pairs.count, packed.count == self.packed.count else { return false }
        self.byteCounts = zip(self.byteCounts, outputs).filter { $0.1 != nil }.map(\.0)
        self.coders = self.coders.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
        (self.pairs, self.packed) = (pairs.map { (input: $0.0, output: $0.1) }, packed)
        return true
    }
}
