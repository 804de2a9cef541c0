import BlobStreams
import FileSource
import Foundation
import Testing

@Suite struct OpenReadersTests {
    /// In a process of its own, because what else allocates would count too.
    @Test func tenThousandOpenReadersTakeLessThanFourKiBOfHeapEach() async {
        await #expect(processExitsWith: .success) {
            let count = 10_000
            _ = setDescriptorLimit(20_000)
            let url = FileManager.default.temporaryDirectory.appendingPathComponent("open-\(UUID().uuidString)")
            try Data("content".utf8).write(to: url)
            let source = FileSource(url: url)
            try source.open().close()
            var readers: [BlobGuardedReader] = []
            readers.reserveCapacity(count)
            let before = heapByteCount()
            for _ in 0..<count { readers.append(try source.open(context: BlobContext())) }
            let each = (heapByteCount() - before) / count
            unlink(url.path)
            let content = try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
                Data(buffer.prefix(try readers[count - 1].readWaiting(into: buffer)))
            }
            try #require(content == Data("content".utf8))
            // Less than a reader and its guard can be means that the heap was not measured.
            try #require((200..<4096).contains(each), "\(each) bytes each")
        }
    }
}
