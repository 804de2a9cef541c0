import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

/// The initializers that Foundation's `InputStream` has.
@Suite struct StandardStreamTests {
    private func readAll(_ stream: BlobInputStream) -> (bytes: [UInt8], code: BlobError.Code?) {
        stream.open()
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 100))
        while case let count = stream.read(&buffer, maxLength: 100), count > 0 { bytes += buffer.prefix(count) }
        return (bytes, (stream.streamError as? BlobError)?.code)
    }

    @Test func aStreamIsMadeFromAPathAndFromAnyURL() throws {
        let folder = try TemporaryFolder()
        // With a space and a `#`, which its URL escapes.
        let path = try folder.write(Array("hello".utf8), to: "a #b%41")
        #expect(self.readAll(BlobInputStream(fileAtPath: path)).bytes == Array("hello".utf8))
        let file = try #require(BlobInputStream(url: URL(fileURLWithPath: path)))
        #expect(self.readAll(file).bytes == Array("hello".utf8))
        let data = try #require(URL(string: "data:,hello").flatMap { BlobInputStream(url: $0) })
        #expect(self.readAll(data).bytes == Array("hello".utf8))
        #expect(try FileSource(path).data(upTo: 10) == Data("hello".utf8))
    }

    @Test func aMissingFileIsAnErrorOfTheStream() throws {
        let path = try TemporaryFolder().path("none")
        #expect(self.readAll(BlobInputStream(fileAtPath: path)).code == .notFound)
        let stream = try #require(BlobInputStream(url: URL(fileURLWithPath: path)))
        #expect(self.readAll(stream).code == .notFound)
    }

    @Test func anURLThatCannotBeResolvedIsNil() throws {
        for text in ["unheard-of://a", "relative/path", "file:///none.zip#a", "s3:"] {
            let url = try #require(URL(string: text))
            #expect(BlobInputStream(url: url) == nil, "\(text)")
        }
    }

    @Test func theModeAndTheContextAreTaken() throws {
        let cancellation = BlobCancellation()
        cancellation.cancel()
        let context = BlobContext(cancellation: cancellation)
        let path = try TemporaryFolder().write([1], to: "a")
        #expect(
            self.readAll(BlobInputStream(fileAtPath: path, mode: .asynchronous, context: context)).code == .cancelled)
        let stream = try #require(BlobInputStream(url: URL(fileURLWithPath: path), context: context))
        #expect(self.readAll(stream).code == .cancelled)
    }
}
