import BlobCore
import Foundation
import Testing

/// Appending many bytes to an output at once.
@Suite struct OutputAppendTests {
    /// The bytes that are in an output with room for `byteCount`, and the result.
    private func appended(
        room byteCount: Int, _ body: (inout OutputRawSpan) throws -> Int
    ) rethrows -> (bytes: [UInt8], count: Int) {
        try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { buffer in
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            output.append(9)
            let count = try body(&output)
            return (Array(buffer.prefix(output.finalize(for: buffer))), count)
        }
    }

    @Test(arguments: [1, 2, 4, 5, 100]) func asManyBytesAsFitAreAppended(room: Int) {
        let bytes: [UInt8] = [1, 2, 3, 4]
        let expected = [9] + bytes.prefix(room - 1)
        let results = [
            self.appended(room: room) { $0.append(contentsOf: bytes) },
            self.appended(room: room) { $0.append(contentsOf: Data(bytes)) },
            self.appended(room: room) { $0.append(contentsOf: ([0] + bytes)[1...]) },
            // Without contiguous storage.
            self.appended(room: room) { $0.append(contentsOf: bytes.lazy.map { $0 }) },
            self.appended(room: room) { output in bytes.withUnsafeBytes { output.append(contentsOf: $0) } },
            self.appended(room: room) { $0.append(contentsOf: bytes.span.bytes) },
        ]
        for result in results {
            #expect(result.bytes == expected)
            #expect(result.count == expected.count - 1)
        }
    }

    @Test func aCallWritesToTheFreeMemory() {
        let written = self.appended(room: 5) { output in
            output.append { free in
                #expect(free.count == 4)
                free[0] = 7
                return 1
            }
        }
        #expect(written.bytes == [9, 7] && written.count == 1)
        let failed = self.appended(room: 5) { output in output.append { _ in -1 } }
        #expect(failed.bytes == [9] && failed.count == -1)
    }
}
