import BlobCore

extension SevenZipHeader {
    /// The methods whose decoders are those of other libraries, or too simple to fail: copy, delta and x86, LZMA2,
    /// LZMA, deflate, bzip2, the branch filters of liblzma, and AES, which is not left to libarchive.
    private static let commonMethods: Set<UInt64> = [
        0x00, 0x03, 0x04, 0x0A, 0x0B, 0x21, 0x03_01_01, 0x03_03_01_03, 0x04_01_08, 0x04_02_02, 0x06_F1_07_01,
    ]

    /// Reads how the streams are packed, unpacked and divided.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil when there is none.
    mutating func readStreams() throws -> UInt64? {
        var id = try self.bytes.id()
        var packedByteCounts: [UInt64] = []
        if id == .packInfo {
            packedByteCounts = try self.readPackedByteCounts()
            id = try self.bytes.id()
        }
        var folders: [Folder] = []
        var firstByteCount: UInt64?
        if id == .unpackInfo {
            folders = try self.readFolders()
            firstByteCount = try self.readUnpackedByteCounts(&folders, packedByteCounts)
            id = try self.bytes.id()
        }
        self.hasSubStreams = id == .subStreams
        if id == .subStreams { id = try self.readSubStreams(folders) }
        guard id == .end else { throw Malformed() }
        return firstByteCount
    }

    /// The methods of encryption that libarchive knows: of old zips, of RAR, and AES.
    private static let encryptingMethods: Set<UInt64> = [0x06_F1_01_01, 0x06_F1_03_03, 0x06_F1_07_01]

    /// The maximum number of coders of a folder, of which libarchive takes four, apart from those that decrypt.
    private static let maximumCoderCount = 8

    private mutating func readPackedByteCounts() throws -> [UInt64] {
        self.layout.packedOffset = try self.bytes.number()
        let count = try self.bytes.number()
        try self.need(count, Cost.packedStream)
        var byteCounts: [UInt64] = []
        var id = try self.bytes.id()
        if id == .size {
            for _ in 0..<count { byteCounts.append(try self.bytes.number()) }
            id = try self.bytes.id()
            if id == .checksums {
                _ = try self.readChecksums(count)
                id = try self.bytes.id()
            }
        }
        guard id == .end else { throw Malformed() }
        self.layout.packedByteCounts = byteCounts
        return byteCounts
    }

    private mutating func readFolders() throws -> [Folder] {
        guard try self.bytes.id() == .folders else { throw Malformed() }
        let count = try self.bytes.number()
        try self.need(count, Cost.folder)
        guard try self.bytes.byte() == 0 else { throw Self.isOdd }
        var folders: [Folder] = []
        self.bytes.records = true
        for _ in 0..<count {
            let start = self.bytes.recorded.count
            let folder = try self.readFolder()
            self.layout.beginFolder(
                self.bytes.recorded[start...], packedCount: Int(folder.packedCount), folder)
            folders.append(folder)
        }
        self.bytes.records = false
        return folders
    }

    private mutating func readFolder() throws -> Folder {
        var folder = Folder()
        var (inCount, outCount): (UInt64, UInt64) = (0, 0)
        let coderCount = try self.bytes.number()
        guard coderCount <= Self.maximumCoderCount else { throw Malformed() }
        var encryptedCount: UInt64 = 0
        for _ in 0..<coderCount {
            let flags = try self.bytes.byte()
            var method: UInt64 = 0
            for _ in 0..<(flags & 0x0F) { method = method << 8 | UInt64(try self.bytes.byte()) }
            let isSimple = flags & 0x10 == 0
            inCount += isSimple ? 1 : try self.streamCount()
            outCount += isSimple ? 1 : try self.streamCount()
            var properties: [UInt8] = []
            let propertyCount = flags & 0x20 == 0 ? 0 : try self.bytes.number()
            for _ in 0..<propertyCount {
                let byte = try self.bytes.byte()
                if properties.count < 5 { properties.append(byte) }
            }
            self.layout.hasRareCoders = self.layout.hasRareCoders || !Self.commonMethods.contains(method)
            if Self.encryptingMethods.contains(method) { encryptedCount += 1 }
            let coder = Coder(rawValue: method)
            folder.hasBCJ2 = folder.hasBCJ2 || coder == .bcj2
            if !SevenZipMethod.isRead(method) { folder.unreadMethod = folder.unreadMethod ?? method }
            folder.hasBranch = folder.hasBranch || SevenZipMethod.branches.contains(method)
            folder.memoryByteCount = max(folder.memoryByteCount, self.memoryByteCount(of: coder, properties))
        }
        guard coderCount - encryptedCount <= 4 else { throw Malformed() }
        folder.isEncrypted = encryptedCount > 0
        guard max(inCount, outCount) <= Self.maximumStreamCount else { throw Self.isOdd }
        guard outCount > 0, inCount + 1 >= outCount else { throw Malformed() }
        var outputs = Set(0..<outCount)
        for pair in 1..<outCount {
            let place = try self.bytes.number()
            outputs.remove(try self.bytes.number())
            if pair == 1 { folder.hasSideStreams = place == 5 }
        }
        folder.mainStream = Int(outputs.max() ?? 0)
        let packedCount = inCount + 1 - outCount
        if packedCount != 1 { for _ in 0..<packedCount { _ = try self.bytes.number() } }
        (folder.streamCount, folder.packedCount) = (UInt8(outCount), UInt8(packedCount))
        return folder
    }

    private mutating func streamCount() throws -> UInt64 {
        let count = try self.bytes.number()
        guard count <= Self.maximumStreamCount else { throw Self.isOdd }
        return count
    }

    private func memoryByteCount(of coder: Coder?, _ properties: [UInt8]) -> UInt64 {
        switch coder {
        case .lzma2: properties.first.map { CompressionFormat.lzma2Window($0) } ?? 0
        // A byte of other parameters, then the size of the window or the model.
        case .lzma, .ppmd: properties.count < 5 ? 0 : CompressionFormat.number(properties[1..<5])
        case .bcj2, nil: 0
        }
    }

    /// Reads the unpacked size of each stream, and the checksums of the folders.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil when there is none.
    private mutating func readUnpackedByteCounts(
        _ folders: inout [Folder], _ packedByteCounts: [UInt64]
    ) throws -> UInt64? {
        guard try self.bytes.id() == .coderSizes else { throw Malformed() }
        var firstByteCount: UInt64?
        var packedStart = 0
        for (index, folder) in folders.enumerated() {
            var byteCounts: [UInt64] = []
            for _ in 0..<folder.streamCount { byteCounts.append(try self.bytes.number()) }
            self.layout.setByteCounts(byteCounts, ofFolder: index)
            if index == 0 { firstByteCount = byteCounts.max() }
            let packed = packedByteCounts.dropFirst(packedStart).prefix(Int(folder.packedCount))
            packedStart += Int(folder.packedCount)
            guard folder.hasBCJ2 else { continue }
            // libarchive holds all streams but the main one in memory.
            let side = Array(packed.dropFirst()) + (folder.hasSideStreams ? Array(byteCounts.prefix(2)) : [])
            let sum = side.reduce(UInt64(0)) { max($0, $0 &+ min($1, 1 << 62)) }
            self.layout.needMemory(sum, ofFolder: index)
        }
        var id = try self.bytes.id()
        if id == .checksums {
            let checksums = try self.readChecksums(UInt64(folders.count))
            for index in folders.indices {
                folders[index].hasChecksum = checksums[index] != nil
                self.layout.setChecksum(checksums[index], ofFolder: index)
            }
            id = try self.bytes.id()
        }
        guard id == .end else { throw Malformed() }
        return firstByteCount
    }

    /// Reads how the folders are divided; returns the identifier that follows.
    private mutating func readSubStreams(_ folders: [Folder]) throws -> ID {
        var id = try self.bytes.id()
        var counts = [UInt64](repeating: 1, count: folders.count)
        if id == .streamCounts {
            for index in folders.indices {
                counts[index] = try self.bytes.number()
                try self.need(counts[index], Cost.subStream)
            }
            id = try self.bytes.id()
        }
        var byteCounts: [UInt64] = []
        if id == .size {
            for count in counts where count > 1 {
                for _ in 1..<count {
                    let byteCount = try self.bytes.number()
                    // An archive with more is not divided.
                    if byteCounts.count < SevenZipLayout.maximumCount { byteCounts.append(byteCount) }
                }
            }
            id = try self.bytes.id()
        }
        var checksums: [UInt32?] = []
        if id == .checksums {
            let count = zip(folders, counts).reduce(UInt64(0)) { sum, folder in
                sum + (folder.0.hasChecksum && folder.1 == 1 ? 0 : folder.1)
            }
            checksums = try self.readChecksums(count)
            id = try self.bytes.id()
        }
        guard id == .end else { throw Malformed() }
        self.isDivided = self.layout.divide(counts, byteCounts, checksums)
        return try self.bytes.id()
    }

    /// Reads checksums; nil for those that do not exist. Too many are skipped.
    private mutating func readChecksums(_ count: UInt64) throws -> [UInt32?] {
        let exist = try self.readBits(Int(count))
        var checksums: [UInt32?] = []
        for exists in exist {
            let checksum = exists ? try self.bytes.fixed(UInt32.self) : nil
            if count <= SevenZipLayout.maximumCount { checksums.append(checksum) }
        }
        return checksums
    }

    /// Reads a bit for each of `count` things, which a byte other than 0 before them makes all ones.
    mutating func readBits(_ count: Int) throws -> [Bool] {
        guard try self.bytes.byte() == 0 else { return [Bool](repeating: true, count: count) }
        return try self.readPlainBits(count)
    }

    /// Reads `count` bits, the highest of each byte first.
    mutating func readPlainBits(_ count: Int) throws -> [Bool] {
        var are = [Bool](repeating: false, count: count)
        var bits: UInt8 = 0
        for index in are.indices {
            if index & 7 == 0 { bits = try self.bytes.byte() }
            are[index] = bits & 0x80 != 0
            bits <<= 1
        }
        return are
    }
}
