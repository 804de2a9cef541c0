internal import BlobBlocks
import BlobCore

/// The methods of coders by their identifiers (DOC/Methods.txt of 7-Zip, and the codecs of 7-Zip ZS).
enum SevenZipMethod {
    /// The branch filters that liblzma decodes, which have the same identifiers there.
    static let branches: Set<UInt64> = [0x0A, 0x0B]

    /// The methods that libarchive reads, in a version or another, and encryption.
    private static let read: Set<UInt64> = [
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

    /// Returns true when a method is read here.
    static func isRead(_ method: UInt64) -> Bool {
        self.branches.contains(method) ? BranchDecoder.isAvailable(method) : self.read.contains(method)
    }

    /// Returns the error for a method that is not read here.
    static func unread(_ method: UInt64) -> BlobError {
        let number = String(method, radix: 16, uppercase: true)
        let name = self.names[method].map { "\($0) (method \(number))" } ?? "method \(number), which is not known"
        let reason =
            self.branches.contains(method)
            ? "is read with liblzma from version \(method == 0x0A ? "5.4" : "5.6") on, which is not there"
            : "is not read"
        return BlobError(.unsupported, "This member of the 7z archive is packed with \(name), and this \(reason).")
    }
}
