import BlobStreamsStandard
import Foundation

// Prints the SHA-256 digest of each locator on the command line: checksum file:///etc/hostname
for argument in CommandLine.arguments.dropFirst() {
    let source = try BlobRegistry.standard.source(for: argument)
    var hasher = CryptoDigest.sha256.makeHasher()
    for try await chunk in source.chunks(ofAtMost: 1 << 20) {
        chunk.withUnsafeBytes { hasher.update($0) }
    }
    print(hasher.finalizeHexadecimal(), argument)
}
