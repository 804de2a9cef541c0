import ArchiveSource
import BlobCore
import CryptoDigest
import FileSource
import GzipSource

// Prints the SHA-256 digest of each locator on the command line, without Foundation: linked statically, it is a third
// of the size of Examples/Checksum. A registry of one's own holds the providers that a program needs.
var registry = BlobRegistry()
for provider in [FileSource.provider, .gzip, .zlib, .deflate] + BlobProvider.archives {
    try registry.register(provider)
}
for argument in CommandLine.arguments.dropFirst() {
    let source = try registry.source(for: argument)
    var hasher = CryptoDigest.sha256.makeHasher()
    for try await chunk in source.chunks(ofAtMost: 1 << 20) {
        chunk.withUnsafeBytes { hasher.update($0) }
    }
    print(hasher.finalizeHexadecimal(), argument)
}
