import BlobStreams
import FileSource
import Foundation

/// What is read; made when it is needed.
let fileToRead = FileManager.default.temporaryDirectory.appendingPathComponent("stream-benchmarks.bin")

extension Comparison {
    /// Reading a file that the system has in memory, which is created below the temporary folder.
    static func reading(bufferByteCount: Int) -> Comparison {
        let byteCount = 256 << 20
        let file = fileToRead
        return Comparison(
            title: "Reading a file, \(bufferByteCount >> 10) KiB a read", unit: "KiB", count: byteCount >> 10,
            subjects: [
                Subject(name: "BlobInputStream") { _ in
                    try prepare(file, byteCount)
                    drain(BlobInputStream(FileSource(url: file)), byteCount, by: bufferByteCount)
                },
                Subject(name: "read(2)") { _ in drainBare(file, byteCount, by: bufferByteCount) },
                Subject(name: "BlobInputStream, asynchronous") { _ in
                    drain(BlobInputStream(FileSource(url: file), mode: .asynchronous), byteCount, by: bufferByteCount)
                },
                Subject(name: "Foundation's InputStream") { _ in
                    guard let stream = InputStream(url: file) else { preconditionFailure("The file is there.") }
                    drain(stream, byteCount, by: bufferByteCount)
                },
            ])
    }
}

private func prepare(_ file: URL, _ byteCount: Int) throws {
    let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
    if size != byteCount { try Data(repeating: 7, count: byteCount).write(to: file) }
}

private func drain(_ stream: InputStream, _ byteCount: Int, by count: Int) {
    let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
    defer { buffer.deallocate() }
    stream.open()
    defer { stream.close() }
    var total = 0
    while case let read = stream.read(buffer, maxLength: count), read > 0 { total += read }
    precondition(total == byteCount)
}

private func drainBare(_ file: URL, _ byteCount: Int, by count: Int) {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
    defer { buffer.deallocate() }
    let descriptor = open(file.path, O_RDONLY)
    defer { close(descriptor) }
    var total = 0
    while case let read = read(descriptor, buffer, count), read > 0 { total += read }
    precondition(total == byteCount)
}
