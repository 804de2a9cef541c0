import BlobStreamsStandard
import Foundation
import LibraryRegistry

// Prints the SHA-256 digest of each locator on the command line, read through an InputStream whose calls block.
let registry = try BlobRegistry.standardWithLibrary()
for argument in CommandLine.arguments.dropFirst() {
    let stream = try BlobInputStream(argument, registry: registry)
    stream.open()
    var hasher = CryptoDigest.sha256.makeHasher()
    var buffer = [UInt8](repeating: 0, count: 64 * 1024)
    while stream.hasBytesAvailable {
        let count = stream.read(&buffer, maxLength: buffer.count)
        guard count >= 0 else { break }
        buffer[..<count].withUnsafeBytes { hasher.update($0) }
    }
    // Only the end means that every byte was read; any other status comes with an error.
    if stream.streamStatus == .atEnd {
        print(hasher.finalizeHexadecimal(), argument)
    } else if let error = stream.streamError {
        print("failed:", error.localizedDescription)
    }
    stream.close()
}
