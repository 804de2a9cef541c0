import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Archives of the web, made by hand as ISO 28500 has them.
@Suite(.serialized) struct WARCTests {
    /// Longer than what a helper gives in one piece, 256 KiB.
    static let page = Made.data(270_000)

    static func record(_ type: String, _ url: String, _ content: Data) -> Data {
        let lines = [
            "WARC/1.0", "WARC-Type: \(type)", "WARC-Target-URI: \(url)", "WARC-Date: 2023-11-14T22:13:20Z",
            "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>", "Content-Length: \(content.count)",
        ]
        let header = lines.map { $0 + "\r\n" }.joined() + "\r\n"
        return Data(header.utf8) + content + Data("\r\n\r\n".utf8)
    }

    static let archive =
        record("warcinfo", "", Data("software: none\r\n".utf8))
        + record("resource", "http://example.org/one", Data("first".utf8))
        + record("resource", "http://example.org/page", page)
        + record("resource", "http://example.org/last", Data("the last".utf8))

    @Test func itsMembersKeepEveryContract() async throws {
        let members = [("one", Data("first".utf8)), ("page", Self.page), ("last", Data("the last".utf8))]
        let archive = ArchiveContainer(MemorySource(Self.archive), format: .warc)
        let listed = try await archive.members()
        #expect(listed.map(\.name) == members.map { Array($0.0.utf8) })
        #expect(listed.map(\.byteCount) == members.map { Int64($0.1.count) })
        for (name, content) in members {
            expectNone(
                await violations(of: try archive.member(.name(name), context: BlobContext()), expecting: content))
        }
    }

    /// More bytes than are read at once, so that headers lie across the end of a block. libarchive refuses them alone.
    @Test(arguments: [ArchiveIsolation.helper, .inProcess], [true, false])
    func headersMayBeAnywhere(_ isolation: ArchiveIsolation, seekable: Bool) async throws {
        let start = Self.record("warcinfo", "", Data("software: none\r\n".utf8))
        let bytes = (0..<6000).reduce(into: start) { bytes, number in
            // The mark of a header may also be content.
            bytes += Self.record("resource", "http://example.org/\(number)", Data("WARC/\(number)".utf8))
        }
        let source: any BlobInputStreamDataSource = seekable ? MemorySource(bytes) : SequentialSource(bytes)
        let archive = ArchiveContainer(source, format: .warc, isolation: isolation)
        #expect(try await archive.members().map(\.name) == (0..<6000).map { Array(String($0).utf8) })
        for number in [1, 1249, 5999] {
            #expect(try await archive.data(.index(number)) == Data("WARC/\(number)".utf8))
        }
    }

    @Test func itsMembersAreReadFromWhatCannotSeek() async throws {
        let archive = ArchiveContainer(SequentialSource(Self.archive), format: .warc)
        #expect(try await archive.data("one") == Data("first".utf8))
        #expect(try await archive.data("page") == Self.page)
        #expect(try await archive.data("last") == Data("the last".utf8))
        #expect(try await archive.code("nope") == .notFound)
        let twice = Self.archive + Self.record("resource", "http://example.org/one", Data("second".utf8))
        #expect(try await ArchiveContainer(SequentialSource(twice), format: .warc).code("one") == .ambiguousMember)
        let once = { ArchiveContainer(pipeSource(twice), format: .warc) }
        #expect(try await once().code("one") == .unsupported)
        #expect(try await once().data(.index(3)) == Data("second".utf8))
    }

    @Test func aRecordThatIsCutOffHasNoCleanEnd() async throws {
        let whole = Self.archive.count
        // Behind the bytes of the last member come four that the library does not ask for.
        for missing in 5..<12 {
            let archive = ArchiveContainer(MemorySource(Self.archive.prefix(whole - missing)), format: .warc)
            #expect(try await archive.code(.index(2)) == .sizeMismatch, "\(missing) bytes missing")
        }
    }
}
