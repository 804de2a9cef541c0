import BlobStreamsStandard
import BlobStreamsTesting
import Foundation

/// Bytes that are written in Base64 (RFC 4648) in their locator: a custom source, registered under its own scheme.
struct Base64Source: BlobInputStreamDataSource {
    let locator: BlobLocator?
    let bytes: Data

    init(_ locator: BlobLocator) throws {
        guard let bytes = Data(base64Encoded: locator.schemeSpecificPart) else {
            throw BlobError(.invalidLocator, "What follows base64: is not in Base64.")
        }
        self.locator = locator
        self.bytes = bytes
    }

    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.bytes.count)) }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let info = self.describe(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        return Reader(info: info, rest: self.bytes.dropFirst(Int(byteOffset)))
    }

    final class Reader: BlobReader {
        let info: BlobInfo
        var rest: Data
        var isClosed = false

        init(info: BlobInfo, rest: Data) { (self.info, self.rest) = (info, rest) }

        func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
            guard !self.isClosed else { throw BlobError(.closed, "The reader is closed.") }
            return .moving(&self.rest, to: &output)
        }

        func close() { (self.isClosed, self.rest) = (true, Data()) }
    }
}

var registry = BlobRegistry.standard
try registry.register(
    BlobProvider(.origin { locator, _ in try Base64Source(locator) }, schemes: ["base64"]))
let source = try registry.source(for: "base64:SGVsbG8sIHdvcmxkIQ==")
print(String(decoding: try source.data(upTo: 1000), as: UTF8.self))
print("broken contracts:", violations(of: source, expecting: Data("Hello, world!".utf8)))
let liar = FaultSource(source, .wrongByteCount(by: 1))
print("of a liar:", violations(of: liar, expecting: Data("Hello, world!".utf8)))
