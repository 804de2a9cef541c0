import BlobStreams
import BlobTestSupport
import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Consumers of Foundation that take an `InputStream`: the table of the article "Consumers of streams on
/// Linux".
@Suite(.timeLimit(.minutes(10))) struct StreamConsumerTests {
    private final class ElementCounter: NSObject, XMLParserDelegate {
        var count = 0

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            self.count += 1
        }
    }

    private static let list = "[" + (0..<50_000).map { "\($0)" }.joined(separator: ", ") + "]"
    private static let document = "<list>" + String(repeating: "<item/>", count: 50_000) + "</list>"

    private static func stream(_ text: String, _ mode: BlobStreamMode) -> BlobInputStream {
        BlobInputStream(MemorySource(Data(text.utf8)), mode: mode)
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func jsonSerialisationReadsAStreamThatIsOpen(_ mode: BlobStreamMode) async throws {
        try await onThread { () throws in
            let stream = Self.stream(Self.list, mode)
            stream.open()
            try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil }
            #expect(try JSONSerialization.jsonObject(with: stream) as? [Int] == Array(0..<50_000))
        }
    }

    /// Foundation ends the process for a stream that is already at its end.
    @Test(arguments: BlobInputStreamTests.modes, SourceKind.allCases)
    func jsonSerialisationFailsForAnEmptyStream(_ mode: BlobStreamMode, _ kind: SourceKind) async throws {
        try await onThread {
            let stream = BlobInputStream(kind.source(0), mode: mode)
            stream.open()
            try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil }
            try #require(stream.streamStatus == .open)
            let error = #expect(throws: CocoaError.self) { try JSONSerialization.jsonObject(with: stream) }
            #expect(error?.code == .propertyListReadCorrupt)
            #expect(stream.streamStatus == .atEnd)
        }
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func jsonSerialisationThrowsTheErrorOfTheStream(_ mode: BlobStreamMode) async throws {
        try await onThread {
            let stream = BlobInputStream(FailingSource(after: 1000, BlobError(.corrupted, "Broken.")), mode: mode)
            stream.open()
            try stream.state.wait(BlobContext()) { $0.isOpenCompleted ? () : nil }
            #expect(codeThrown { try JSONSerialization.jsonObject(with: stream) } == .corrupted)
        }
    }

    @Test(arguments: BlobInputStreamTests.modes)
    func anXMLParserOpensAndReadsAStream(_ mode: BlobStreamMode) async throws {
        try await onThread {
            let (stream, counter) = (Self.stream(Self.document, mode), ElementCounter())
            let parser = XMLParser(stream: stream)
            parser.delegate = counter
            #expect(parser.parse())
            #expect(counter.count == 50_001)
            #expect(stream.streamStatus == .closed)
        }
    }

    @Test func anXMLParserReportsTheErrorOfTheStream() async throws {
        try await onThread {
            let head = Data("<list><item/>".utf8)
            let failing = ConcatenatedSource([
                MemorySource(head), FailingSource(after: 10, BlobError(.corrupted, "Broken.")),
            ])
            let parser = XMLParser(stream: BlobInputStream(failing))
            #expect(!parser.parse())
            #expect(parser.parserError.map { BlobError(wrapping: $0).code } == .corrupted)
        }
    }

    #if os(Linux)
    /// Foundation takes the stream for one of its own. When this fails, the article can say that it works.
    @Test func propertyListSerialisationEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let list = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .xml, options: 0)
            let stream = BlobInputStream(MemorySource(list))
            stream.open()
            _ = try PropertyListSerialization.propertyList(with: stream, format: nil)
            exit(EXIT_SUCCESS)
        }
    }
    #endif

    /// What the article advises instead.
    @Test func aPropertyListIsReadFromTheSource() async throws {
        let list = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0)
        let data = try await MemorySource(list).data(upTo: 1 << 20)
        #expect(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Int] == ["a": 1])
    }
}
