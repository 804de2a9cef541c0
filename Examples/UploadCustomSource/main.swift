import BlobStreamsStandard
import BlobTransfer
import Foundation

/// The decimal digits of the numbers from 1 on, each followed by a space: bytes that are computed, not stored.
struct CountingUp: BlobInputStreamDataSource {
    let last: Int

    var traits: BlobTraits { .repeatable }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(mediaType: "text/plain", name: "\(self.last).txt") }
    func makeReader(at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext) throws
        -> any BlobReader
    {
        Reader(self.last).skipping(byteOffset)
    }

    private final class Reader: BlobReader {
        let info = BlobInfo(mediaType: "text/plain")
        private var numbers: ClosedRange<Int>.Iterator
        private var rest: ArraySlice<UInt8> = []

        init(_ last: Int) { self.numbers = (1...max(last, 1)).makeIterator() }

        func read(into output: inout OutputRawSpan) -> BlobReadResult {
            if self.rest.isEmpty, let number = self.numbers.next() { self.rest = ArraySlice("\(number) ".utf8) }
            return .moving(&self.rest, to: &output)
        }

        func close() {}
    }
}

// Registers the source under a scheme of its own and uploads it by its locator: UploadCustomSource count:1000 URL
guard CommandLine.arguments.count == 3 else {
    print("usage: UploadCustomSource count:LAST URL")
    exit(64)
}
var registry = BlobRegistry.standard
let provider = BlobProvider(
    .origin { locator, _ in
        guard let last = Int(locator.description.dropFirst("count:".count)) else {
            throw BlobError(.invalidLocator, "A number follows 'count:'.")
        }
        return CountingUp(last: last)
    }, schemes: ["count"])
try registry.register(provider)

let source = try registry.source(for: CommandLine.arguments[1])
let response = try await BlobUploader().upload(source, with: BlobUploadRequest(.put, CommandLine.arguments[2]))
print(response.status, String(decoding: response.body, as: UTF8.self))
