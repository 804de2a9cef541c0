import BlobCore
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

/// The parts of a form as an asynchronous sequence.
@Suite struct MultipartPartsTests {
    private static let body = """
        --x\r\nContent-Disposition: form-data; name="a"\r\n\r\nfirst\r\n--x\r\n\
        Content-Disposition: form-data; name="b"; filename="b.txt"\r\nContent-Type: text/plain\r\n\r\n\
        \r\nsecond\r\n--\r\n--x\r\nContent-Disposition: form-data; name="c"\r\n\r\n\r\n--x--\r\n
        """

    private func chunks(_ text: String, of count: Int) -> AsyncStream<ArraySlice<UInt8>> {
        let bytes = Array(text.utf8)
        return AsyncStream { stream in
            for start in stride(from: 0, to: bytes.count, by: count) {
                stream.yield(bytes[start..<min(start + count, bytes.count)])
            }
            stream.finish()
        }
    }

    @Test(arguments: [1, 2, 3, 7, 64, 4096])
    func partsArriveInOrderWithTheirBytes(chunkByteCount: Int) async throws {
        var found: [String] = []
        for try await part in try MultipartParts(of: self.chunks(Self.body, of: chunkByteCount), boundary: "x") {
            var bytes: [UInt8] = []
            for try await piece in part.bytes { bytes += piece }
            found.append(
                "\(part.name) \(part.filename ?? "-") \(part.header.mediaType ?? "-") "
                    + String(decoding: bytes, as: UTF8.self))
        }
        #expect(found == ["a - - first", "b b.txt text/plain \r\nsecond\r\n--", "c - - "])
    }

    /// The second part is not read, the first one not to its end.
    @Test(arguments: [1, 4096]) func bytesThatAreNotReadAreDiscarded(chunkByteCount: Int) async throws {
        let parts = try MultipartParts(of: self.chunks(Self.body, of: chunkByteCount), boundary: "x")
            .makeAsyncIterator()
        let first = try #require(try await parts.next())
        #expect(try await first.bytes.next()?.first == UInt8(ascii: "f"))
        #expect(try await parts.next()?.name == "b")
        #expect(try await first.bytes.next() != nil, "These are the bytes of the current part.")
        #expect(try await parts.next()?.name == "c")
        #expect(try await parts.next() == nil)
        #expect(try await first.bytes.next() == nil)
    }

    @Test func aPartIsASource() async throws {
        for try await part in try MultipartParts(of: self.chunks(Self.body, of: 5), boundary: "x")
        where part.name == "b" {
            #expect(try part.source.info().name == "b.txt")
            #expect(try await part.source.data(upTo: 100) == Data("\r\nsecond\r\n--".utf8))
        }
    }

    /// Cut at every byte: an error after the parts that are whole, never an early end.
    @Test func aCutFormIsTruncated() async throws {
        let end = Self.body.utf8.count - 2
        for count in 0..<end {
            let parts = try MultipartParts(
                of: self.chunks(String(Self.body.utf8.prefix(count)) ?? "", of: 3), boundary: "x")
            await #expect(throws: BlobError.self, "cut after \(count) bytes") {
                for try await part in parts { for try await _ in part.bytes {} }
            }
            // The error is kept.
            await #expect(throws: BlobError.self) { _ = try await parts.makeAsyncIterator().next() }
        }
    }

    @Test func theErrorsOfTheBodyArePassedOn() async throws {
        struct Failure: Error {}
        let chunks = AsyncThrowingStream<[UInt8], any Error> { stream in
            stream.yield(Array(Self.body.utf8.prefix(60)))
            stream.finish(throwing: Failure())
        }
        let parts = try MultipartParts(of: chunks, boundary: "x")
        await #expect(throws: Failure.self) { for try await part in parts { for try await _ in part.bytes {} } }
    }

    @Test func limitsAndBoundariesAreChecked() async throws {
        #expect(throws: BlobError.self) { try MultipartParts(of: self.chunks("", of: 1), boundary: "") }
        var limits = MultipartParser.Limits()
        limits.maximumPartCount = 2
        let parts = try MultipartParts(of: self.chunks(Self.body, of: 9), boundary: "x", limits: limits)
        await #expect {
            for try await _ in parts {}
        } throws: {
            ($0 as? BlobError)?.code == .limitExceeded
        }
    }
}
