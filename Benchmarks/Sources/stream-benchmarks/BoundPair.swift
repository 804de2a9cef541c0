import BlobStreams
import Foundation

extension Comparison {
    /// Passing bytes from one thread to another in small pieces.
    static var boundPair: Comparison {
        let byteCount = 1 << 10
        return Comparison(
            title: "From thread to thread, 1 KiB a write and a read", unit: "KiB", count: 64 << 10,
            subjects: [
                Subject(name: "BoundStreamPair") { count in
                    let pair = BoundStreamPair()
                    pair.input.open()
                    pass(
                        count,
                        write: { [output = Moved(pair.output)] in
                            output.value.open()
                            write(count * byteCount, by: byteCount) {
                                output.value.write($0.assumingMemoryBound(to: UInt8.self), maxLength: $1)
                            }
                            output.value.close()
                        },
                        read: { pair.input.read($0.assumingMemoryBound(to: UInt8.self), maxLength: byteCount) })
                    pair.input.close()
                }
            ],
            peer: Subject(name: "pipe(2)") { count in
                let pipe = Pipe()
                let (output, input) = (pipe.fileHandleForWriting, pipe.fileHandleForReading.fileDescriptor)
                pass(
                    count,
                    write: {
                        let descriptor = output.fileDescriptor
                        write(count * byteCount, by: byteCount) { Foundation.write(descriptor, $0, $1) }
                        try? output.close()
                    },
                    read: { Foundation.read(input, $0, byteCount) })
            })
    }
}

/// Writes on a new thread and reads on this one to the end, after `count` KiB.
private func pass(_ count: Int, write: @escaping @Sendable () -> Void, read: (UnsafeMutableRawPointer) -> Int) {
    Thread { write() }.start()
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: 1 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var total = 0
    while case let read = read(buffer), read > 0 { total += read }
    precondition(total == count << 10)
}

private func write(_ total: Int, by count: Int, _ write: (UnsafeRawPointer, Int) -> Int) {
    let bytes = [UInt8](repeating: 7, count: count)
    bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        var remaining = total
        while remaining > 0 {
            let written = write(start, min(count, remaining))
            precondition(written > 0)
            remaining -= written
        }
    }
}
