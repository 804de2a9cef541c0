import BlobStreamsStandard
import Foundation

let stream = try BlobInputStream("gzip+log.gz", registry: .standard, mode: .asynchronous)
let phases = stream.state.observe(\.phase) { print($0.old ?? .notOpen, "->", $0.new ?? .notOpen) }
let progress = stream.state.observe(\.byteOffset) { print("\($0.new ?? 0) bytes") }
stream.open()
var buffer = [UInt8](repeating: 0, count: 64 * 1024)
while stream.read(&buffer, maxLength: buffer.count) > 0 {}  // 0 is the end, -1 an error.
print(stream.streamError.map { "failed: \($0)" } ?? "every byte arrived, and its checksum is right")
