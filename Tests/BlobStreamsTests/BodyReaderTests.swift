import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

/// The reader of a body, and what an inspector over it reports.
@Suite struct BodyReaderTests {
    private static let bytes = Data(testBytes(1000))

    @Test func aLayerOverItsOwnBodyKeepsEveryContract() async throws {
        let found = try await onThread { violations(of: LayeredSource(bytes: Self.bytes), expecting: Self.bytes) }
        #expect(found.isEmpty, "\(found)")
    }

    @Test(arguments: [false, true]) func errorsGetTheirContextFromTheSourceAlone(takes: Bool) async throws {
        let source = LayeredSource(bytes: Self.bytes, fault: BlobError(.corrupted, "Broken."), takes: takes)
        let error = try await onThread {
            let reader = try source.open()
            #expect(throws: BlobError.self) {
                while let bytes = try reader.readBytes(atMost: 300) { #expect(bytes.count > 0) }
                while try Data(readingAtMost: 300, from: reader).count > 0 {}
            }
            return #expect(throws: BlobError.self) { try Data(readingAtMost: 300, from: reader) }
        }
        // The code is that of the inspector, the offset that of the source.
        #expect(error?.code == .inconsistent && error?.byteOffset == 1000)
        #expect(error?.layers == ["LayeredSource"] && error?.operation == "read")
    }

    @Test func anOffsetPastTheEndOfABodyIsFound() async throws {
        let outcome = try await readingOutcome(LayeredSource(bytes: Self.bytes), at: 1001)
        #expect(outcome.error?.code == .invalidArgument && outcome.error?.layers == ["LayeredSource"])
    }
}

/// A source whose own bytes are inspected, and end with an error instead.
private struct LayeredSource: BlobInputStreamDataSource {
    let bytes: Data
    var fault: BlobError?
    var takes = false

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo() }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let body = BlobBody.stream(Stream(bytes: self.bytes, fault: self.fault, takes: self.takes), startingAt: 0)
        return .inspected(try BlobReader(body, opening), Inspector(), startingAt: opening.byteOffset)
    }

    private final class Stream: BlobByteStream {
        let info: BlobInfo? = BlobInfo()
        private let bytes: Data
        private let fault: BlobError?
        private let takes: Bool

        init(bytes: Data, fault: BlobError?, takes: Bool) {
            (self.bytes, self.fault, self.takes) = (bytes, fault, takes)
        }

        func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
            let rest = self.bytes.dropFirst(Int(byteOffset)).prefix(output.freeCapacity)
            guard rest.isEmpty else {
                for byte in rest { output.append(byte) }
                return .bytes
            }
            if let fault { throw fault }
            return .end
        }

        func readBytes(at byteOffset: Int64, atMost byteCount: Int) throws -> BlobBytes? {
            guard self.takes else { return nil }
            let rest = self.bytes.dropFirst(Int(byteOffset)).prefix(byteCount)
            if rest.isEmpty, let fault { throw fault }
            return rest.isEmpty ? nil : rest.withUnsafeBytes { BlobBytes(copying: $0) }
        }
    }

    private struct Inspector: BlobInspector {
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
        func reportedError(_ error: BlobError) -> BlobError {
            error.code == .corrupted ? BlobError(.inconsistent, error.message) : error
        }
    }
}
