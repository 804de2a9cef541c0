import BlobStreams
import BlobStreamsTesting
import Foundation
import GzipSource
import Testing

/// What a source says of itself, where it can be opened, and what its errors tell.
@Suite struct GzipSourceTests {
    private let bytes = sampleBytes(100_000)

    @Test func anyOffsetCanBeOpened() {
        let source = GzipSource(MemorySource(gzipped(self.bytes)))
        for offset in [0, 1, 4095, 50_000, 99_999, 100_000] {
            let outcome = outcome(of: source, at: Int64(offset))
            #expect(outcome.bytes == self.bytes[offset...] && outcome.isWhole)
        }
        #expect(outcome(of: source, at: 100_001).error?.code == .invalidArgument)
        #expect(outcome(of: source, at: -1).error?.code == .invalidArgument)
    }

    @Test func theLengthIsUnknownAndTheNameLosesItsExtension() throws {
        let names: [(GzipSource.Format, String, String)] = [
            (.gzip, "a.txt.gz", "a.txt"), (.gzip, "A.GZ", "A"), (.gzip, "a.tgz", "a.tar"), (.gzip, "a", "a"),
            (.gzip, ".gz", ".gz"), (.zlib, "a.zz", "a"), (.zlib, "a.gz", "a.gz"), (.deflate, "a.deflate", "a"),
        ]
        for (format, name, expected) in names {
            let source = GzipSource(
                MemorySource(Data(), mediaType: "application/gzip", name: name), format: format)
            let info = try source.info()
            #expect(info.name == expected && info.byteCount == nil && info.mediaType == nil)
        }
    }

    @Test func theValidatorIsMadeFromTheBases() throws {
        let base = MemorySource(gzipped(self.bytes))
        let validator = try #require(try GzipSource(base).info().validator)
        #expect(validator.isStrong)
        #expect(try validator != base.info().validator)
        #expect(try validator != GzipSource(base, format: .zlib).info().validator)
        #expect(throws: Never.self) { try GzipSource(base).open(matching: validator).close() }
        let other = GzipSource(MemorySource(gzipped(self.bytes)))
        let error = #expect(throws: BlobError.self) { try other.open(matching: validator) }
        #expect(error?.code == .changed)
    }

    @Test func theRandomAccessOfTheBaseIsTaken() {
        #expect(GzipSource(MemorySource(Data())).traits == [.neverBlocks, .concurrentReaders, .repeatable])
    }

    @Test func theLocatorIsTheBasesInOneMoreWrapper() throws {
        func locator(_ text: String) throws -> String? {
            GzipSource(LocatedSource(base: MemorySource(Data()), locator: try BlobLocator(text))).locator?.text
        }
        #expect(try locator("file:///x.gz") == "gzip+file:///x.gz")
        #expect(try locator("gzip+file:///x.gz") == "gzip+gzip+file:///x.gz")
        #expect(try locator("tar+file:///x.tar#in.zip!/a.gz") == "gzip+tar+file:///x.tar#in.zip!/a.gz")
        #expect(GzipSource(MemorySource(Data())).locator == nil)
    }

    @Test func errorsNameTheBaseAndThePlaceInIt() throws {
        let locator = try BlobLocator("file:///x.gz")
        let file = gzipped(self.bytes).dropLast(100)
        let error = outcome(of: GzipSource(LocatedSource(base: MemorySource(file), locator: locator))).error
        #expect(error?.code == .truncated && error?.locator == "file:///x.gz")
        #expect(error?.byteOffset == Int64(file.count) && error?.operation == "read" && error?.isTransient == false)
        #expect(error?.layers.first == "GzipSource")
        #expect(
            error?.description == "truncated: The gzip stream ends too early, in its data. [file:///x.gz] "
                + "(at byte \(file.count))")
    }

    @Test func anErrorOfTheBaseComesThroughAfterTheBytesBeforeIt() {
        let file = gzipped(self.bytes, level: 0)
        let outcome = outcome(of: GzipSource(FaultSource(MemorySource(file), .fail(at: 70_000))))
        #expect(outcome.error?.code == .io)
        #expect(self.bytes.starts(with: outcome.bytes) && outcome.bytes.count > 65_000)
        #expect(outcome.error?.layers == ["GzipSource", "FaultSource"])
    }

    @Test func anErrorComesAgainOnEveryLaterRead() throws {
        let reader = try GzipSource(MemorySource(gzipped(self.bytes).dropLast(1))).open()
        func read() throws -> Data {
            Data(
                try [UInt8](unsafeUninitializedCapacity: 1 << 20) { piece, count in
                    let piece = UnsafeMutableRawBufferPointer(piece)
                    var output = OutputRawSpan(buffer: piece, initializedCount: 0)
                    _ = try reader.read(into: &output)
                    count = output.finalize(for: piece)
                })
        }
        #expect(try read() == self.bytes)
        let errors = (0..<3).map { _ in #expect(throws: BlobError.self) { try read() } }
        #expect(errors.allSatisfy { $0 == errors[0] && $0?.code == .truncated })
        reader.close()
        let closed = #expect(throws: BlobError.self) { try read() }
        #expect(closed?.code == .closed)
    }

    @Test func aHundredThousandEmptyMembersAreReadInLinearTime() {
        let thousand = (0..<1000).reduce(into: Data()) { all, _ in all += gzipped(Data()) }
        let hundredThousand = (0..<100).reduce(into: Data()) { all, _ in all += thousand }
        let clock = ContinuousClock()
        let few = clock.measure { #expect(outcome(decoding: thousand + thousand).isWhole) }
        let many = clock.measure {
            #expect(outcome(decoding: hundredThousand + gzipped(self.bytes)).bytes == self.bytes)
        }
        // 50 times as many; what is quadratic would take 2500 times as long.
        #expect(many < few * 1000)
    }

    @Test func aCancelledJobEndsBetweenReads() throws {
        let context = BlobContext()
        let reader = try GzipSource(MemorySource(gzipped(self.bytes))).open(context: context)
        defer { reader.close() }
        var piece = [UInt8](repeating: 0, count: 100)
        #expect(try piece.withUnsafeMutableBytes { try reader.readBlocking(into: $0) } == 100)
        context.cancellation.cancel()
        let error = #expect(throws: BlobError.self) {
            try piece.withUnsafeMutableBytes { try reader.readBlocking(into: $0) }
        }
        #expect(error?.code == .cancelled)
    }
}

/// A source that has a locator.
private struct LocatedSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    let locator: BlobLocator?

    func traits(over base: BlobTraits) -> BlobTraits { base.subtracting(.neverBlocks) }
}
