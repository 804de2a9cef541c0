import BlobDeflate
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// Few bytes that decode to many: an error in time, and never an end.
@Suite struct RatioLimitTests {
    private static let zeros = Data(count: 32 << 20)

    /// Each form decodes to 400 times its length or more.
    private static let bombs: [(name: String, format: GzipSource.Format, bytes: Data)] = [
        ("gzip", .gzip, gzipped(zeros)), ("zlib", .zlib, compressed(zeros, .zlib)),
        ("deflate", .deflate, compressed(zeros, .deflate)),
        ("members", .gzip, (0..<32).reduce(Data()) { bytes, _ in bytes + gzipped(Data(count: 1 << 20)) }),
        ("blocks", .gzip, blocked(zeros)),
    ]

    /// Reads to the end or to an error; returns the number of bytes, and the error.
    private func outcome(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, _ context: BlobContext
    ) throws -> (byteCount: Int, error: BlobError?) {
        let reader = try source.open(at: byteOffset, context: context)
        defer { reader.close() }
        var byteCount = 0
        do {
            while case let piece = try read(reader), !piece.isEmpty { byteCount += piece.count }
            return (byteCount, nil)
        } catch {
            let error = BlobError(wrapping: error)
            #expect(throws: error) { try read(reader) }
            return (byteCount, error)
        }
    }

    private func expectLimit(_ outcome: (byteCount: Int, error: BlobError?), _ byteCount: Int, _ name: String) {
        #expect(outcome.error?.code == .limitExceeded, "\(name): \(outcome)")
        #expect(outcome.error?.message.contains("ratio limit of 200 to 1") == true)
        // A batch of blocks that is decoded at once is at most a mebibyte.
        #expect(outcome.byteCount > 1 << 20 && outcome.byteCount < 200 * byteCount + (2 << 20), "\(name): \(outcome)")
    }

    private static var limited: BlobContext {
        var context = BlobContext()
        context.ratioLimit = 200
        return context
    }

    @Test(arguments: bombs.indices, InflateLibrary.available)
    func tooHighARatioIsAnErrorInEachForm(form: Int, library: InflateLibrary) async throws {
        let (name, format, bytes) = Self.bombs[form]
        try await onThread {
            let source = GzipSource(MemorySource(bytes), format: format, index: .none, library: library)
            self.expectLimit(try self.outcome(source, Self.limited), bytes.count, name)
            // The bytes before an offset count, too.
            let outcome = try self.outcome(source, at: 30 << 20, Self.limited)
            #expect(outcome.byteCount == 0 && outcome.error?.code == .limitExceeded, "\(name)")
            // Deflate has no higher one, and there is no limit by default.
            for limit in [1100, nil] {
                var context = BlobContext()
                context.ratioLimit = limit
                let outcome = try self.outcome(source, context)
                #expect(outcome.byteCount == Self.zeros.count && outcome.error == nil, "\(name)")
            }
        }
    }

    @Test(arguments: bombs.indices) func theRatioOfIndexedReadersIsLimitedToo(form: Int) async throws {
        let (name, format, bytes) = Self.bombs[form]
        let folder = try TemporaryFolder()
        let file = try folder.file("data", bytes)
        try await onThread {
            let source = GzipSource(file, format: format, index: .file(folder.path("index")))
            #expect(try source.buildIndex(BlobContext()))
            for offset in [0, 5 << 20, 20 << 20] as [Int64] {
                let outcome = try self.outcome(source, at: offset, Self.limited)
                #expect(outcome.error?.code == .limitExceeded && outcome.byteCount < 16 << 20, "\(name): \(outcome)")
            }
            // Few bytes at an offset are no bomb.
            let reader = try source.open(at: 31 << 20, context: Self.limited)
            #expect(try read(reader, upTo: 1000).count == 1000)
        }
    }

    @Test func aLayerLimitsTheRatioOfItsBase() async throws {
        let source = GzipSource(MemorySource(Self.bombs[0].bytes)).layered { $0.ratioLimit = 200 }
        try await onThread { self.expectLimit(try self.outcome(source, BlobContext()), Self.bombs[0].bytes.count, "") }
    }

    @Test func lessThanAMebibyteIsAllowed() async throws {
        let bytes = gzipped(Data(count: 1 << 20))
        var context = BlobContext()
        context.ratioLimit = 1
        let byteCount = try await onThread { [context] in
            try self.outcome(GzipSource(MemorySource(bytes)), context).byteCount
        }
        #expect(byteCount == 1 << 20)
    }
}
