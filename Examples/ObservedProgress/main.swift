import BlobStreamsStandard
import Foundation

// Reads the locator on the command line, and prints the progress and the phases of the stream.
let stream = try BlobInputStream(CommandLine.arguments[1], registry: .standard, mode: .asynchronous)

let state = stream.state
let phases = state.observe(\.phase, options: [.initial, .old, .new]) { change in
    print(change.old.map { "\($0) -> " } ?? "", change.new.map { "\($0)" } ?? "", separator: "")
}
let progress = state.observe(\.byteOffset, options: [.new]) { change in
    guard let byteOffset = change.new, let byteCount = state.value.byteCount, byteCount > 0 else { return }
    print("\(100 * byteOffset / byteCount) %")
}

stream.open()
var buffer = [UInt8](repeating: 0, count: 64 * 1024)
while stream.read(&buffer, maxLength: buffer.count) > 0 {}
stream.close()
withExtendedLifetime((phases, progress)) {}
