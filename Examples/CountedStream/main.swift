import BlobStreamsStandard
import Foundation

// Counts the bytes that another program reads from an InputStream, as HSCountingInputStream does, without a subclass:
// CountedStream FILE
guard CommandLine.arguments.count == 2 else {
    print("usage: CountedStream FILE")
    exit(64)
}
let path = CommandLine.arguments[1]

// Any InputStream becomes a source, a layer counts, and the source is an InputStream again. It seeks and can be copied.
let source = InputStreamSource { InputStream(fileAtPath: path) }
let counted = source.counting { count, byteOffset, _ in print("\(count) bytes, \(byteOffset) in all") }
let stream = BlobInputStream(counted)

stream.open()
var buffer = [UInt8](repeating: 0, count: 64 * 1024)
while stream.read(&buffer, maxLength: buffer.count) > 0 {}
print(stream.streamStatus == .atEnd ? "at the end" : "failed: \(stream.streamError.map { "\($0)" } ?? "")")
stream.close()
