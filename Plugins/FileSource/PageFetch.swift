import BlobCore
import BlobPlatform

/// A single read, on a pool thread, of bytes that are not in the page cache.
final class PageFetch: Sendable {
    private struct State {
        var isStarted = false
        var result: Result<[UInt8], BlobError>?
        var waker: BlobWaker?
    }

    /// The number of bytes in one read of the device.
    private static let byteCount = 64 * 1024

    private let state = Locked(State())

    /// Starts the read, unless it has started, and wakes `waker` when it is done.
    func start(_ file: FileDescriptor, at byteOffset: Int64, _ waker: BlobWaker) {
        let (isFirst, isDone) = self.state.withLock { state in
            defer { state.isStarted = true }
            if state.result == nil { state.waker = waker }
            return (!state.isStarted, state.result != nil)
        }
        if isDone { return waker.wake() }
        guard isFirst else { return }
        do {
            // A separate descriptor, because the reader may close the file meanwhile.
            let copy = HandedOver(try file.duplicate())  // To this one job.
            BlockingPool.brief.run {
                self.finish(
                    Result { () throws(BlobError) in
                        var failure: BlobError?
                        let bytes = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
                            do throws(BlobError) {
                                let memory = UnsafeMutableRawBufferPointer(buffer)
                                count = try copy.value.read(into: memory, at: byteOffset) ?? 0
                            } catch {
                                failure = error
                            }
                        }
                        if let failure { throw failure }
                        return bytes
                    })
            }
        } catch {
            self.finish(.failure(error))
        }
    }

    /// Copies the bytes that were read, as far as they fit, and returns their number; nil until the read is done.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> Result<Int, BlobError>? {
        self.state.withLock { state in
            state.result?.map { bytes in
                let count = min(bytes.count, buffer.count)
                bytes.withUnsafeBytes {
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
                }
                return count
            }
        }
    }

    /// Drops the waker.
    func drop() { self.state.withLock { $0.waker = nil } }

    private func finish(_ result: Result<[UInt8], BlobError>) {
        let waker = self.state.withLock { state in
            state.result = result
            defer { state.waker = nil }
            return state.waker
        }
        waker?.wake()
    }
}
