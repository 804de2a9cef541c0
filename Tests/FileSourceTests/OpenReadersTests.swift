import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@Suite struct OpenReadersTests {
    /// In a process of its own, because what else allocates would count too.
    @Test func tenThousandOpenReadersTakeLessThanFourKiBOfHeapEach() async {
        await #expect(processExitsWith: .success) {
            let count = 10_000
            _ = setDescriptorLimit(20_000)
            let folder = try TemporaryFolder()
            let source = FileSource(path: try folder.write("content", to: "x"))
            try source.open().close()
            var readers: [BlobReader] = []
            readers.reserveCapacity(count)
            let before = heapByteCount()
            for _ in 0..<count { readers.append(try source.open(context: BlobContext())) }
            let each = (heapByteCount() - before) / count
            try #require(try read(readers[count - 1]) == Array("content".utf8))
            // Less than a reader and its guard can be means that the heap was not measured.
            try #require((200..<4096).contains(each), "\(each) bytes each")
        }
    }

    @Test func aReaderThatNeverComparesKeepsNoBytes() async {
        await #expect(processExitsWith: .success) {
            let count = 1000
            _ = setDescriptorLimit(20_000)
            let folder = try TemporaryFolder()
            let path = try folder.write([UInt8](repeating: 1, count: 10_000), to: "x")
            let source = FileSource(path: path, growth: .strict)
            _ = try read(source.open(), upTo: 8192)
            var readers: [BlobReader] = []
            readers.reserveCapacity(count)
            let before = heapByteCount()
            for _ in 0..<count {
                readers.append(try source.open())
                try #require(try read(readers[readers.count - 1], upTo: 8192).count == 8192)
            }
            let each = (heapByteCount() - before) / count
            try #require((200..<4096).contains(each), "\(each) bytes each")
        }
    }
}
