import BlobStreams
import BlobTestSupport
import Foundation

@testable import ArchiveSource

/// The encrypted zips that are stored with these tests; see Fixtures/README.md.
enum Fixture {
    static func url(_ name: String) -> URL { fixture(name, of: "ArchiveSourceTests") }

    static func bytes(_ name: String) throws -> Data { try Data(contentsOf: self.url(name)) }

    /// The bytes of the member called `short`.
    static let short = Data(String(repeating: "some text, some more text, some text ", count: 20).utf8)

    static let contents = ["short": short, "long": Made.long, "empty": Data()]

    /// The zips with one password, by file name, and their members.
    static let members: [(file: String, password: String, names: [String])] = [
        ("infozip.zip", "secret", ["short", "long", "empty"]), ("infozip-stored.zip", "secret", ["short", "empty"]),
        ("infozip-utf8.zip", "pässwörd€", ["short"]),
        ("7zip-zipcrypto.zip", "secret", ["short", "long", "empty"]),
        ("7zip-aes128.zip", "secret", ["short", "long", "empty"]), ("7zip-aes192.zip", "secret", ["short", "empty"]),
        ("7zip-aes256.zip", "secret", ["short", "empty"]), ("7zip-aes256-stored.zip", "secret", ["short", "empty"]),
        ("7zip-bzip2.zip", "secret", ["short"]), ("7zip-lzma.zip", "secret", ["short"]),
        ("pyzipper-ae1.zip", "pässwörd€", ["short", "long", "empty"]),
        ("pyzipper-ae2.zip", "pässwörd€", ["short", "long", "empty"]),
        ("pyzipper-ae1-pipe.zip", "secret", ["short"]), ("pyzipper-ae2-pipe.zip", "secret", ["short"]),
    ]
}

extension BlobContext {
    /// A context that knows one password for every archive.
    init(password: String?) {
        self.init()
        self.password = { _ in password }
    }
}

extension ArchiveContainer {
    /// The bytes of a member that is read with a password.
    func data(_ selector: BlobLocator.Selector, password: String, at byteOffset: Int64 = 0) throws -> Data {
        let context = BlobContext(password: password)
        let reader = try self.member(selector, context: context).open(at: byteOffset, context: context)
        defer { reader.close() }
        return Data(try readAll(reader))
    }

    /// The error of reading a member; nil when there is none.
    func failure(_ selector: BlobLocator.Selector, _ context: BlobContext) -> BlobError? {
        do {
            _ = try self.member(selector, context: context).data(upTo: 1 << 22, context: context)
            return nil
        } catch {
            return BlobError(wrapping: error)
        }
    }
}
