import BlobStreamsStandard
import ExampleProgram
import Foundation

// Prints the SHA-256 digest of each locator, such as a path, gzip+log.gz, backup.tgz#etc/hosts, a URL or an asset.
await ExampleProgram.run("Checksum LOCATOR…", taking: 1...) { locators, registry in
    for locator in locators {
        let source = try registry.source(for: locator)
        var hasher = CryptoDigest.sha256.makeHasher()
        for try await chunk in source.chunks(ofAtMost: 1 << 20) {
            chunk.withUnsafeBytes { hasher.update($0) }
        }
        print(hasher.finalizeHexadecimal(), locator)
    }
}
