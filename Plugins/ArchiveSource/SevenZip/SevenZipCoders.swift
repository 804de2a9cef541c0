internal import BlobBlocks
import BlobCore

/// The coders of a folder, and the connections of their streams (7zFormat.txt, "Folder").
struct SevenZipCoders {
    private struct Coder {
        var method: [UInt8] = []
        var inputCount = 1
        var outputCount = 1
        var properties: [UInt8] = []

        /// The identifier of the method as a number.
        var number: UInt64 { self.method.bigEndian }

        /// The memory that the coder needs, in bytes; 0 for coders without memory of their own.
        var memoryByteCount: UInt64 {
            switch self.number {
            case SevenZipMethod.lzma2: self.properties.first.map { CompressionFormat.lzma2Window($0) } ?? 0
            // A byte with other parameters, then the size of the window or the model.
            case SevenZipMethod.lzma, SevenZipMethod.ppmd:
                self.properties.count < 5 ? 0 : self.properties[1..<5].littleEndian
            default: 0
            }
        }
    }

    /// The maximum number of coders, and the maximum without decryption, which is the limit of libarchive.
    private static let (maximumCount, maximumPlainCount) = (8, 4)
    /// The maximum number of streams, as in 7-Zip.
    private static let maximumStreamCount = 32
    /// The maximum length of a coder's properties in bytes; 7-Zip writes at most 34.
    private static let maximumPropertyByteCount: UInt64 = 1 << 16

    private var coders: [Coder] = []
    /// The inputs that are connected to the output of another coder.
    private var pairs: [(input: Int, output: Int)] = []
    /// The inputs that are packed streams, in the order of the packed streams.
    private var packedInputs: [Int] = []
    /// The unpacked size of each output in bytes.
    var byteCounts: [UInt64] = []
    /// The size of each packed stream in bytes.
    var packedByteCounts: [UInt64] = []

    /// Parses the coders in the same way as libarchive.
    ///
    /// - Throws: ``SevenZipHeader/MalformedHeaderError``; ``BlobError/Code/unsupported`` for more streams than any
    ///   writer creates.
    init(_ bytes: inout SevenZipHeader.Bytes) throws {
        let count = try bytes.readNumber()
        guard count <= Self.maximumCount else { throw SevenZipHeader.MalformedHeaderError() }
        for _ in 0..<count {
            let flags = try bytes.readByte()
            var coder = Coder()
            try bytes.readParts(UInt64(flags & 0x0F)) { coder.method += $0 }
            if flags & 0x10 != 0 {
                coder.inputCount = try Self.streamCount(&bytes)
                coder.outputCount = try Self.streamCount(&bytes)
            }
            if flags & 0x20 != 0 {
                let byteCount = try bytes.readNumber()
                guard byteCount <= Self.maximumPropertyByteCount else { throw SevenZipHeader.MalformedHeaderError() }
                try bytes.readParts(byteCount) { coder.properties += $0 }
            }
            self.coders.append(coder)
        }
        let plainCount = self.coders.count { !SevenZipMethod.encryptionMethods.contains($0.number) }
        guard plainCount <= Self.maximumPlainCount else { throw SevenZipHeader.MalformedHeaderError() }
        let inputCount = self.coders.reduce(0) { $0 + $1.inputCount }
        guard max(inputCount, self.outputCount) <= Self.maximumStreamCount else {
            throw SevenZipHeader.unexpectedHeaderError
        }
        let packedCount = inputCount + 1 - self.outputCount
        guard self.outputCount > 0, packedCount >= 0 else { throw SevenZipHeader.MalformedHeaderError() }
        for _ in 1..<self.outputCount {
            self.pairs.append((Int(clamping: try bytes.readNumber()), Int(clamping: try bytes.readNumber())))
        }
        if packedCount == 1 {
            self.packedInputs = [Int](
                (0..<inputCount).filter { input in !self.pairs.contains { $0.input == input } }.prefix(1))
        } else {
            for _ in 0..<packedCount { self.packedInputs.append(Int(clamping: try bytes.readNumber())) }
        }
    }

    private static func streamCount(_ bytes: inout SevenZipHeader.Bytes) throws -> Int {
        let count = try bytes.readNumber()
        guard count <= Self.maximumStreamCount else { throw SevenZipHeader.unexpectedHeaderError }
        return Int(count)
    }

    var outputCount: Int { self.coders.reduce(0) { $0 + $1.outputCount } }

    var packedCount: Int { self.coders.reduce(1) { $0 + $1.inputCount - $1.outputCount } }

    /// The output that no other coder reads, which is the content.
    var mainOutput: Int {
        (0..<self.outputCount).last { output in !self.pairs.contains { $0.output == output } } ?? 0
    }

    var isEncrypted: Bool { self.coders.contains { SevenZipMethod.encryptionMethods.contains($0.number) } }
    var hasBranch: Bool { self.coders.contains { SevenZipMethod.branchFilters.contains($0.number) } }
    var hasBCJ2: Bool { self.coders.contains { $0.number == SevenZipMethod.bcj2 } }
    /// True if a coder is not in ``SevenZipMethod/commonMethods``.
    var includeRareCoders: Bool { self.coders.contains { !SevenZipMethod.commonMethods.contains($0.number) } }
    /// The first unsupported method; nil if all methods are supported.
    var unsupportedMethod: UInt64? { self.coders.lazy.map(\.number).first { !SevenZipMethod.isReadable($0) } }
    /// The memory of the coder that needs the most, in bytes.
    var memoryByteCount: UInt64 { self.coders.reduce(0) { max($0, $1.memoryByteCount) } }

    /// The number of bytes that libarchive keeps in memory for BCJ2: all streams of known size except the main stream.
    var sideByteCount: UInt64 {
        guard self.hasBCJ2 else { return 0 }
        // The first two outputs are side streams if the first pair connects the main stream.
        let side = self.packedByteCounts.dropFirst() + (self.pairs.first?.input == 5 ? self.byteCounts.prefix(2) : [])
        return side.reduce(0) { max($0, $0 &+ min($1, 1 << 62)) }
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
        if self.packedInputs.count > 1 { header.append(self.packedInputs.map(UInt64.init)) }
    }

    /// True if decoding immediately detects bytes that were decrypted with a wrong key.
    var detectsWrongKey: Bool { self.coders.contains { SevenZipMethod.keyDetectingMethods.contains($0.number) } }

    /// Removes the decrypting coders; their outputs become packed streams.
    ///
    /// - Returns: The encryption of each packed stream, with nil for a plain stream; nil if the encryption has another
    ///   kind, or is not applied to packed streams.
    mutating func removeEncryption() -> [SevenZipEncryption?]? {
        var encryptions = [SevenZipEncryption?](repeating: nil, count: self.packedInputs.count)
        var removed: Set<Int> = []
        var (input, output) = (0, 0)
        for (index, coder) in self.coders.enumerated() {
            defer { (input, output) = (input + coder.inputCount, output + coder.outputCount) }
            guard coder.number == SevenZipMethod.aes else { continue }
            guard (coder.inputCount, coder.outputCount) == (1, 1), output < self.byteCounts.count,
                let place = self.packedInputs.firstIndex(of: input), encryptions[place] == nil,
                let encryption = SevenZipEncryption(coder.properties)
            else { return nil }
            encryptions[place] = encryption
            self.packedByteCounts[place] = self.byteCounts[output]
            if let pair = self.pairs.firstIndex(where: { $0.output == output }) {
                self.packedInputs[place] = self.pairs.remove(at: pair).input
                removed.insert(index)
            } else {
                // The decrypted bytes are already the content.
                self.coders[index] = Coder(method: [SevenZipMethod.copyMethod])
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
    /// - Returns: The filter; nil if the folder has no such filter, or connects it in another way.
    mutating func removeBranch() -> Branch? {
        var (input, output) = (0, 0)
        for (index, coder) in self.coders.enumerated() {
            defer { (input, output) = (input + coder.inputCount, output + coder.outputCount) }
            guard coder.method.count == 1, SevenZipMethod.branchFilters.contains(coder.number) else { continue }
            // The properties are empty or contain the address of the first byte.
            guard (coder.inputCount, coder.outputCount) == (1, 1), [0, 4].contains(coder.properties.count),
                !self.pairs.contains(where: { $0.output == output })
            else { return nil }
            let start = UInt32(coder.properties.littleEndian)
            if let pair = self.pairs.firstIndex(where: { $0.input == input }) {
                self.pairs.remove(at: pair)
                guard self.remove([index]) else { return nil }
            } else {
                self.coders[index] = Coder(method: [SevenZipMethod.copyMethod])
            }
            return Branch(method: coder.number, startOffset: start)
        }
        return nil
    }

    /// Removes coders whose streams are no longer connected; returns false if that disconnects other coders.
    private mutating func remove(_ removed: Set<Int>) -> Bool {
        var (inputs, outputs): ([Int?], [Int?]) = ([], [])
        // Renumber the streams of the other coders.
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
        let packed = self.packedInputs.compactMap { renumber($0, inputs) }
        guard pairs.count == self.pairs.count, packed.count == self.packedInputs.count else { return false }
        self.byteCounts = zip(self.byteCounts, outputs).filter { $0.1 != nil }.map(\.0)
        self.coders = self.coders.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
        (self.pairs, self.packedInputs) = (pairs.map { (input: $0.0, output: $0.1) }, packed)
        return true
    }
}

/// The identifiers of the methods of coders (DOC/Methods.txt of 7-Zip, and the codecs of 7-Zip ZS).
enum SevenZipMethod {
    /// The branch filters that liblzma decodes, with the same identifiers in liblzma.
    static let branchFilters: Set<UInt64> = [0x0A, 0x0B]

    static let copyMethod: UInt8 = 0
    /// The methods that need special treatment: those whose memory is limited (LZMA2, LZMA, PPMd), BCJ2, and AES.
    static let (lzma2, lzma, bcj2, ppmd, aes): (UInt64, UInt64, UInt64, UInt64, UInt64) =
        (0x21, 0x03_01_01, 0x03_03_01_1B, 0x03_04_01, 0x06_F1_07_01)

    /// The encryption methods that libarchive recognises: traditional zip encryption, RAR encryption and AES.
    static let encryptionMethods: Set<UInt64> = [0x06_F1_01_01, 0x06_F1_03_03, aes]

    /// The methods whose decoders are in other libraries, or too simple to fail.
    ///
    /// These are copy, delta and x86, LZMA2, LZMA, deflate, bzip2, the branch filters of liblzma, and AES, which this
    /// module decrypts itself.
    static let commonMethods: Set<UInt64> = [
        0x00, 0x03, 0x04, 0x0A, 0x0B, lzma2, lzma, 0x03_03_01_03, 0x04_01_08, 0x04_02_02, aes,
    ]

    /// The methods that reject nearly all data decrypted with a wrong key before they return a byte: all methods except
    /// copying filters and PPMd.
    static let keyDetectingMethods: Set<UInt64> = [lzma2, lzma, 0x04_01_08, 0x04_02_02]

    /// The methods that some version of libarchive decodes, and encryption.
    private static let readableMethods: Set<UInt64> = [
        0x00, 0x03, 0x21, 0x03_01_01, 0x03_03_01_03, 0x03_03_01_1B, 0x03_03_02_05, 0x03_03_04_01, 0x03_03_05_01,
        0x03_03_07_01, 0x03_03_08_05, 0x03_04_01, 0x04_01_08, 0x04_02_02, 0x04_F7_11_01, 0x06_F1_01_01, 0x06_F1_03_03,
        0x06_F1_07_01,
    ]

    private static let names: [UInt64: String] = [
        0x00: "Copy", 0x03: "Delta", 0x04: "BCJ", 0x05: "PPC", 0x06: "IA64", 0x07: "ARM", 0x08: "ARMT", 0x09: "SPARC",
        0x0A: "ARM64", 0x0B: "RISCV", 0x21: "LZMA2", 0x02_03_02: "Swap2", 0x02_03_04: "Swap4", 0x03_01_01: "LZMA",
        0x03_03_01_03: "BCJ", 0x03_03_01_1B: "BCJ2", 0x03_03_02_05: "PPC", 0x03_03_03_01: "Alpha",
        0x03_03_04_01: "IA64", 0x03_03_05_01: "ARM", 0x03_03_06_05: "M68", 0x03_03_07_01: "ARMT",
        0x03_03_08_05: "SPARC", 0x03_04_01: "PPMD", 0x03_7F_01: "experimental", 0x04_01_00: "Copy",
        0x04_01_01: "Shrink",
        0x04_01_06: "Implode", 0x04_01_08: "Deflate", 0x04_01_09: "Deflate64", 0x04_01_0A: "Imploding",
        0x04_01_0C: "BZip2", 0x04_01_0E: "LZMA", 0x04_01_5D: "ZSTD", 0x04_01_5F: "xz",
        0x04_01_60: "Jpeg", 0x04_01_61: "WavPack",
        0x04_01_62: "PPMd", 0x04_01_63: "AES", 0x04_02_02: "BZip2", 0x04_03_01: "Rar1", 0x04_03_02: "Rar2",
        0x04_03_03: "Rar3", 0x04_03_05: "Rar5", 0x04_04_01: "Arj", 0x04_04_02: "Arj4", 0x04_05: "Z", 0x04_06: "Lzh",
        0x04_08: "Cab", 0x04_09_01: "Deflate (NSIS)", 0x04_09_02: "BZip2 (NSIS)", 0x04_F7_10_01: "LZHAM",
        0x04_F7_11_01: "ZSTD", 0x04_F7_11_02: "BROTLI", 0x04_F7_11_04: "LZ4", 0x04_F7_11_05: "LZ5",
        0x04_F7_11_06: "LIZARD", 0x04_F7_12_01: "WavPack2",
        0x06_F0_01_01: "AES", 0x06_F1_01_01: "ZipCrypto", 0x06_F1_03_03: "Rar29AES",
        0x06_F1_07_01: "AES256",
    ]

    /// Returns true if a method is supported.
    static func isReadable(_ method: UInt64) -> Bool {
        self.branchFilters.contains(method) ? BranchDecoder.isAvailable(method) : self.readableMethods.contains(method)
    }

    /// Returns the error for an unsupported method.
    static func unsupportedMethodError(_ method: UInt64) -> BlobError {
        let number = String(method, radix: 16, uppercase: true)
        let name = self.names[method].map { "\($0) (method \(number))" } ?? "the unknown method \(number)"
        let reason =
            self.branchFilters.contains(method)
            ? "requires liblzma \(method == 0x0A ? "5.4" : "5.6") or later"
            : "is not supported"
        return BlobError(.unsupported, "This member of the 7z archive uses \(name), which \(reason).")
    }
}
