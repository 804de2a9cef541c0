import BlobStreams
import Foundation

/// Reads a stream to its end, and checks that it has as many bytes as the file.
func drain(_ stream: InputStream, by count: Int) {
    let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
    defer { buffer.deallocate() }
    stream.open()
    defer { stream.close() }
    var total = 0
    while case let read = stream.read(buffer, maxLength: count), read > 0 { total += read }
    precondition(total == FileToRead.byteCount)
}

/// Consumes all chunks in a detached task, and checks that they have as many bytes as the file.
func drain(_ chunks: BlobSequence<Data, BlobError>) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        var total = 0
        do { for try await chunk in chunks { total += chunk.count } } catch { preconditionFailure("\(error)") }
        precondition(total == FileToRead.byteCount)
        done.signal()
    }
    done.wait()
}
