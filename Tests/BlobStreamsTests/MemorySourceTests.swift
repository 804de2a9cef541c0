import BlobStreams
import Testing

@Test func aMemorySourceGivesItsBytes() throws {
    let source = MemorySource(Array("hello".utf8))
    #expect(try source.data(upTo: 5) == .init("hello".utf8))
}
