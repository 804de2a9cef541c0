import BlobStreamsStandard
import ExampleProgram
import Foundation

// Prints the SHA-256 digest of each locator, read through an InputStream whose calls block.
ExampleProgram.run("SynchronousChecksum LOCATOR…", taking: 1...) { locators, registry in
    for locator in locators {
        let stream = try BlobInputStream(locator, registry: registry)
        stream.open()
        defer { stream.close() }
        var hasher = CryptoDigest.sha256.makeHasher()
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while stream.hasBytesAvailable {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count >= 0 else { break }
            buffer[..<count].withUnsafeBytes { hasher.update($0) }
        }
        // Only the end means that every byte was read. Any other status is accompanied by an error.
        guard stream.streamStatus == .atEnd else { throw stream.streamError ?? BlobError(.io, "The stream failed.") }
        print(hasher.finalizeHexadecimal(), locator)
    }
}
