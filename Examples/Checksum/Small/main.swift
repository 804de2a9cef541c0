import ArchiveSource
import BlobCore
import CryptoDigest
import FileSource
import GzipSource

// Prints the SHA-256 digest of each locator without Foundation. Linked statically, this program has a third of the size
// of Examples/Checksum/Chunks. A custom registry contains only the providers that the program needs.
let locators = CommandLine.arguments.dropFirst()
guard !locators.isEmpty else { end("usage: SmallChecksum LOCATOR…", status: 64) }
do {
    var registry = BlobRegistry()
    for provider in [FileSource.provider, .gzip, .zlib, .deflate] + BlobProvider.archives {
        try registry.register(provider)
    }
    for locator in locators {
        let source = try registry.source(for: locator)
        var hasher = CryptoDigest.sha256.makeHasher()
        for try await chunk in source.chunks(ofAtMost: 1 << 20) {
            chunk.withUnsafeBytes { hasher.update($0) }
        }
        print(hasher.finalizeHexadecimal(), locator)
    }
} catch {
    end("\(error)", status: error.code.exitStatus)
}

func end(_ line: String, status: Int32) -> Never {
    Array("\(line)\n".utf8).withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(status)
}
