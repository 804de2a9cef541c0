import BlobStreamsStandard
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

@testable import S3Source

/// The checksums that uploads state, and those that the store answers with. A part has 1,000 bytes.
@Suite(.timeLimit(.minutes(3))) struct StoredChecksumTests {
    private let bytes = makeContent(3500)

    private func source(_ byteCount: Int) -> MemorySource {
        MemorySource(Array(self.bytes.prefix(byteCount)), validator: .strong("1"))
    }

    /// Returns the requests without their tries, and what the uploader says was compared.
    private func upload(_ byteCount: Int, to store: StoringStore) async throws -> String? {
        var uploader = try store.uploader()
        uploader.maximumRetryCount = 1
        let check = Locked<String?>("not called")
        uploader.onCheck = { text in check.withLock { $0 = text } }
        _ = try await uploader.upload(self.source(byteCount), to: "s3://bucket/key")
        return check.withLock { $0 }
    }

    @Test(arguments: [0, 999, 1000, 1001, 3500], [false, true])
    func theChecksumOfTheWholeIsStatedAndCompared(byteCount: Int, hasOpaqueTags: Bool) async throws {
        let store = try StoringStore(state: StoringStore.State(knowsChecksums: true, hasOpaqueTags: hasOpaqueTags))
        let check = try await self.upload(byteCount, to: store)
        #expect(check == (hasOpaqueTags ? "CRC-64/NVME" : "CRC-64/NVME and MD5 (ETag)"))
        let whole = Array(self.bytes.prefix(byteCount))
        #expect(store.object == whole)
        let last = try #require(store.requests.last { $0.method != "HEAD" })
        #expect(last.fields["x-amz-checksum-crc64nvme"] == StoringStore.checksum(whole))
        guard byteCount > 1000 else { return }
        #expect(last.fields["x-amz-checksum-type"] == "FULL_OBJECT")
        let first = try #require(store.requests.first)
        #expect(first.fields["x-amz-checksum-algorithm"] == "CRC64NVME")
        for part in store.requests where part.method == "PUT" {
            #expect(part.fields["x-amz-checksum-crc64nvme"] == StoringStore.checksum(part.body))
        }
    }

    /// Tags that are no digests would show nothing of the damage.
    @Test(arguments: [700, 3500]) func aStoreThatDamagesBytesIsFound(byteCount: Int) async throws {
        var random = SplitMix64(seed: 40)
        for _ in 0..<100 {
            let bit = Int.random(in: 0..<(8 * byteCount), using: &random)
            let store = try StoringStore(
                state: StoringStore.State(knowsChecksums: true, damagedBit: bit, hasOpaqueTags: true))
            let code = await asyncCodeThrown { try await self.upload(byteCount, to: store) }
            #expect(code == .checksumMismatch, "bit \(bit)")
        }
    }

    /// The parts are right, and the object is not.
    @Test func anObjectThatIsMadeWrongIsFound() async throws {
        let isPart = Locked(true)
        let store = try StoringStore(state: StoringStore.State(knowsChecksums: true, hasOpaqueTags: true)) {
            _, request in
            guard request.method == "POST", request.parameter("uploadId") != nil else { return .serve }
            isPart.withLock { $0 = false }
            let sum = StoringStore.checksum([1])
            return .answer(
                StoringStore.document(
                    "<CompleteMultipartUploadResult><ETag>\"x-4\"</ETag><ChecksumCRC64NVME>\(sum)</ChecksumCRC64NVME>"
                        + "</CompleteMultipartUploadResult>"))
        }
        #expect(await asyncCodeThrown { try await self.upload(3500, to: store) } == .checksumMismatch)
        #expect(!isPart.withLock { $0 })
    }

    @Test(arguments: [700, 3500]) func aStoreThatIgnoresChecksumsGoesOnWorking(byteCount: Int) async throws {
        let store = try StoringStore()
        #expect(try await self.upload(byteCount, to: store) == "MD5 (ETag)")
        #expect(store.object == Array(self.bytes.prefix(byteCount)))
    }

    /// As moto does without the library of AWS: it states a CRC-32.
    @Test(arguments: ["CqoRWw==", "", "x"]) func whatCannotBeAChecksumIsIgnored(text: String) async throws {
        let store = try StoringStore { _, request in
            guard request.method == "POST", request.parameter("uploadId") != nil else { return .serve }
            return .answer(
                StoringStore.document(
                    "<CompleteMultipartUploadResult><ETag>\"x\"</ETag><ChecksumCRC64NVME>\(text)</ChecksumCRC64NVME>"
                        + "</CompleteMultipartUploadResult>"))
        }
        // The length of the object is asked for, which is not there.
        #expect(await asyncCodeThrown { try await self.upload(3500, to: store) } == .notFound)
    }

    /// One refusal, and no checksum from then on; in parts, those that were under way at once are refused as well.
    @Test(arguments: ["NotImplemented", "InvalidRequest", "InvalidArgument"], [700, 3500])
    func aStoreThatRefusesChecksumsIsAskedWithoutThem(code: String, byteCount: Int) async throws {
        let refusalCount = Locked(0)
        let store = try StoringStore { _, request in
            guard request.fields.keys.contains(where: { $0.hasPrefix("x-amz-checksum") }) else { return .serve }
            refusalCount.withLock { $0 += 1 }
            return .answer(StoringStore.error(code, "501 Not Implemented"))
        }
        var uploader = try store.uploader()
        uploader.maximumRetryCount = 0
        for _ in 0..<3 {
            _ = try await uploader.upload(self.source(byteCount), to: "s3://bucket/key")
            #expect(store.object == Array(self.bytes.prefix(byteCount)))
        }
        #expect(refusalCount.withLock { $0 } == 1)
    }

    /// Parts that are refused while others are under way.
    @Test func severalPartsThatAreRefusedAtOnceAreAllSentAgain() async throws {
        let store = try StoringStore { _, request in
            let isRefused = request.method == "PUT" && request.fields["x-amz-checksum-crc64nvme"] != nil
            return isRefused ? .answer(StoringStore.error("NotImplemented", "501 Not Implemented")) : .serve
        }
        var uploader = try store.uploader()
        (uploader.maximumPartsAtOnce, uploader.maximumRetryCount) = (4, 0)
        _ = try await uploader.upload(self.source(3500), to: "s3://bucket/key")
        #expect(store.object == self.bytes)
    }
}
