import BlobStreamsStandard
import ExampleProgram
import Foundation

// Reads the beginning of an asset, runs a command that edits or moves it, reads on, and prints the result:
// ChangedAsset "$ASSET&version=original" 'blob library adjust --rotate 90 "$ASSET"'
ExampleProgram.run("ChangedAsset LOCATOR COMMAND", taking: 2...2) { arguments, registry in
    let stream = try BlobInputStream(arguments[0], registry: registry)
    let observations = [
        stream.state.observe(\.interruption) { change in
            if let interruption = change.new ?? nil { print("\(interruption)") }
        },
        stream.state.observe(\.recoveryCount) { print("recoveries:", $0.new ?? 0) },
    ]
    defer { for observation in observations { observation.cancel() } }
    var hasher = CryptoDigest.sha256.makeHasher()
    // Much smaller than an asset's verified block, so that the change is noticed before the next block.
    var (buffer, isChanged) = ([UInt8](repeating: 0, count: 16 * 1024), false)
    stream.open()
    defer { stream.close() }
    while case let count = stream.read(&buffer, maxLength: buffer.count), count != 0 {
        guard count > 0 else { throw stream.streamError ?? BlobError(.io, "The stream failed.") }
        buffer[..<count].withUnsafeBytes { hasher.update($0) }
        guard !isChanged else { continue }
        isChanged = true
        try run(arguments[1])
    }
    print(hasher.finalizeHexadecimal())
}

func run(_ command: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
        throw BlobError(.invalidArgument, "The command ended with status \(process.terminationStatus).")
    }
}
