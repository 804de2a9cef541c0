import BlobDeflate
import BlobIndex
import BlobStreams
import Foundation
import Testing

@Suite struct IndexedContentTests {
    @Test(arguments: [0, 1, 4095, 4096, 4097, 8192, 100_000])
    func theEdgesAreSummed(_ byteCount: Int) throws {
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let content = try #require(try IndexedContent.read(from: VersionedSource(bytes, "v"), BlobContext()))
        var sum = CRC32()
        bytes.prefix(4096).withUnsafeBytes { sum.update($0) }
        if byteCount > 4096 { bytes.suffix(4096).withUnsafeBytes { sum.update($0) } }
        #expect(
            content == IndexedContent(byteCount: Int64(byteCount), validator: "strong:v", edgeChecksum: sum.value))
    }

    @Test func contentThatCannotBeToldApartHasNone() throws {
        #expect(try IndexedContent.read(from: VersionedSource([1], nil), BlobContext()) == nil)
        #expect(try IndexedContent.read(from: VersionedSource([1], "v", .concurrentReaders), BlobContext()) == nil)
        #expect(
            try IndexedContent.read(from: VersionedSource([1], String(repeating: "v", count: 20_000)), BlobContext())
                == nil)
    }

    @Test func errorsPassThrough() throws {
        let cancelled = BlobContext()
        cancelled.cancellation.cancel()
        let error = #expect(throws: BlobError.self) {
            try IndexedContent.read(from: VersionedSource([1], "v"), cancelled)
        }
        #expect(error?.code == .cancelled)
    }
}

/// Bytes in memory with a validator.
private struct VersionedSource: BlobInputStreamDataSource {
    private let bytes: [UInt8]
    private let info: BlobInfo
    let traits: BlobTraits

    init(
        _ bytes: [UInt8], _ version: String?, _ traits: BlobTraits = [.repeatable, .concurrentReaders],
        isRandomAccess: Bool = true
    ) {
        self.bytes = bytes
        self.info = BlobInfo(
            byteCount: Int64(bytes.count), validator: version.map { .strong($0) }, isRandomAccess: isRandomAccess)
        self.traits = traits
    }

    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        .positional(self.info) { [bytes] offset, output in
            bytes.withUnsafeBytes {
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...]))
            }
        }
    }
}
