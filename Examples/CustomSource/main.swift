import BlobStreamsStandard
import BlobStreamsTesting
import BlobURLSession
import ExampleProgram
import Foundation

/// A custom source whose locator contains the bytes in Base64 (RFC 4648).
struct Base64Source: BlobInputStreamDataSource {
    let locator: BlobLocator?
    let bytes: Data

    init(_ locator: BlobLocator) throws {
        guard let bytes = Data(base64Encoded: locator.schemeSpecificPart) else {
            throw BlobError(.invalidLocator, "The text after 'base64:' is not valid Base64.")
        }
        self.locator = locator
        self.bytes = bytes
    }

    let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders]

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.bytes.count)) }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        .positional(self.describe(opening.context)) { byteOffset, output in
            var rest = self.bytes.dropFirst(Int(byteOffset))
            _ = BlobReadResult.moving(&rest, to: &output)
        }
    }
}

// Registers the source under its own scheme, and prints or posts the bytes of a locator:
// CustomSource base64:SGVsbG8sIHdvcmxkIQ== [http://127.0.0.1:8080/]
await ExampleProgram.run("CustomSource LOCATOR [URL]", taking: 1...2) { arguments, standard in
    var registry = standard
    try registry.register(BlobProvider(.origin { locator, _ in try Base64Source(locator) }, schemes: ["base64"]))
    let source = try registry.source(for: arguments[0])
    guard arguments.count == 1 else {
        var request = URLRequest(url: try ExampleProgram.serverURL(arguments[1]))
        request.httpMethod = "POST"
        let (answer, response) = try await URLSessionUploader().upload(source, with: request)
        let text = String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
        guard (200...299).contains(response.statusCode) else {
            throw BlobError(.refused, "The server answered \(response.statusCode): \(text)")
        }
        return print(response.statusCode, text)
    }
    let bytes = try await source.data(upTo: 1 << 20)
    print(String(decoding: bytes, as: UTF8.self))
    // As in the tests of a plugin, the kit checks the contract of a source, and reports a wrong length.
    guard arguments[0].hasPrefix("base64:") else { return }
    print("contract violations:", await violations(of: source, expecting: bytes))
    print(
        "contract violations of a faulty source:",
        await violations(of: FaultSource(source, .wrongByteCount(by: 1)), expecting: bytes))
}
