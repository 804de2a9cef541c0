import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import MultipartFormData
import Testing

/// Bodies that are read in packets with delays.
@Suite(.timeLimit(.minutes(10))) struct ThrottleTests {
    private func body(_ throttle: MultipartThrottle?, byteCount: Int) throws -> MultipartBody {
        var form = MultipartForm()
        form.throttle = throttle
        try form.appendPart(value: "v", name: "value")
        try form.appendPart(source: MemorySource(Data(count: byteCount)), name: "file", fileName: "f")
        return try form.body(boundary: MultipartBoundary("B"))
    }

    @Test func theSuggestedValuesAreThoseOfAFNetworking() {
        #expect(MultipartThrottle.slowNetwork.packetByteCount == 16384)
        #expect(MultipartThrottle.slowNetwork.delay == .milliseconds(200))
    }

    /// Each packet but the last is followed by a delay, during which a read says that nothing is there yet.
    @Test func aDelayFollowsEachPacket() async throws {
        let throttle = MultipartThrottle(packetByteCount: 1000, delay: .milliseconds(30))
        let body = try self.body(throttle, byteCount: 5000)
        #expect(body.traits.contains(.neverBlocks))
        let start = ContinuousClock.now
        let all = try await bytes(of: body)
        #expect(ContinuousClock.now - start >= .milliseconds(5 * 30))
        #expect(all == (try await bytes(of: try self.body(nil, byteCount: 5000))))
        try await onThread {
            let reader = try body.open()
            defer { reader.close() }
            var count = 0
            while count < 1000 {
                var piece = [UInt8](repeating: 0, count: 600)
                let result = try piece.withUnsafeMutableBytes { buffer in
                    var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                    let result = try reader.read(into: &output)
                    count += output.finalize(for: buffer)
                    return result
                }
                #expect(result == .bytes)
            }
            #expect(count == 1000)
            let result = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                let result = try reader.read(into: &output)
                _ = output.finalize(for: buffer)
                return result
            }
            #expect(result == .notYet)
        }
    }

    @Test func aThrottledBodyKeepsEveryContract() async throws {
        let body = try self.body(MultipartThrottle(packetByteCount: 64, delay: .milliseconds(1)), byteCount: 100)
        let found = await violations(of: body, expecting: try await bytes(of: body))
        #expect(found.isEmpty, "\(found)")
    }

    /// A hundred bodies that all wait need no thread each.
    @Test func waitingHoldsNoThread() async throws {
        let throttle = MultipartThrottle(packetByteCount: 100, delay: .milliseconds(50))
        let threadCount = BlockingPool.reads.threadCount
        await withThrowingTaskGroup(of: Int64?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let body = try self.body(throttle, byteCount: 500)
                    var count: Int64 = 0
                    for try await chunk in body.chunks() { count += Int64(chunk.count) }
                    return count - (body.byteCount ?? 0)
                }
            }
            while let difference = try? await group.next() { #expect(difference == 0) }
        }
        #expect(BlockingPool.reads.threadCount <= threadCount + 8)
    }
}
