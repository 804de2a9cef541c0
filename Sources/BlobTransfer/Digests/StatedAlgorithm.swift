package import BlobCore
package import BlobDeflate
import CryptoDigest

/// A digest algorithm that servers use.
package enum StatedAlgorithm: String, CaseIterable, Sendable {
    // In order of preference. The checksums come before the broken hashes, which detect no more damage and take twenty
    // times as long.
    case sha512, sha256, crc64nvme, crc32c, crc32, sha1, md5

    /// The length of a digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha512: 64
        case .sha256: 32
        case .sha1: 20
        case .md5: 16
        case .crc64nvme: 8
        case .crc32c, .crc32: 4
        }
    }

    /// The algorithm's name for display.
    package var title: String {
        switch self {
        case .sha512: "SHA-512"
        case .sha256: "SHA-256"
        case .sha1: "SHA-1"
        case .md5: "MD5"
        case .crc64nvme: "CRC-64/NVME"
        case .crc32c: "CRC-32C"
        case .crc32: "CRC-32"
        }
    }

    /// The checksum of an empty sequence; nil if the algorithm cannot combine the digests of two pieces.
    package var sum: CyclicSum? {
        switch self {
        case .crc64nvme: CyclicSum(.crc64NVME)
        case .crc32c: CyclicSum(.crc32c)
        case .crc32: CyclicSum(.crc32)
        case .sha512, .sha256, .sha1, .md5: nil
        }
    }

    /// Creates a hasher; returns nil for a hash in a build without the package trait `Crypto`.
    package func makeHasher() -> (any BlobHasher)? {
        self.sum ?? CryptoDigest.all.first { $0.name == self.rawValue }?.makeHasher()
    }
}
