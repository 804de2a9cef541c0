import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// A source that can be opened again, but not at any place.
struct SequentialSource: BlobInputStreamDataSource {
    let bytes: MemorySource

    init(_ bytes: Data) { self.bytes = MemorySource(bytes) }

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) throws -> BlobInfo { Self.info(of: try self.bytes.describe(context)) }
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        Reader(try self.bytes.makeReader(at: byteOffset, matching: validator, context: context))
    }

    private static func info(of bytes: BlobInfo) -> BlobInfo {
        var info = bytes
        info.isRandomAccess = false
        return info
    }

    private final class Reader: BlobPluginReader {
        private let base: any BlobPluginReader

        init(_ base: any BlobPluginReader) { self.base = base }

        var info: BlobInfo { SequentialSource.info(of: self.base.info) }
        func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
        func close() { self.base.close() }
    }
}

/// A source that brings a byte a read.
struct OneByteSource: BlobInputStreamDataSource {
    let bytes: Data

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.bytes.count)) }
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try PositionalReader(self.describe(context), at: byteOffset, matching: validator) { offset, output in
            if offset < self.bytes.count { output.append(self.bytes[self.bytes.startIndex + Int(offset)]) }
        }
    }
}

extension ArchiveContainer {
    /// The bytes of one of its members.
    func data(_ selector: BlobLocator.Selector) async throws -> Data {
        try await onThread { try self.member(selector, context: BlobContext()).data(upTo: 1 << 22) }
    }

    func data(_ name: String) async throws -> Data { try await self.data(.name(name)) }

    /// All of its members.
    func members() async throws -> [BlobMember] {
        try await onThread {
            var members: [BlobMember] = []
            try self.forEachMember(BlobContext()) {
                members.append($0)
                return true
            }
            return members
        }
    }

    func code(_ selector: BlobLocator.Selector) async throws -> BlobError.Code? {
        try await onThread { codeThrown { try self.member(selector, context: BlobContext()).data(upTo: 1 << 22) } }
    }

    func code(_ name: String) async throws -> BlobError.Code? { try await self.code(.name(name)) }
}

func tar(_ bytes: Data) -> ArchiveContainer { ArchiveContainer(MemorySource(bytes), format: .tar) }
func zip(_ bytes: Data) -> ArchiveContainer { ArchiveContainer(MemorySource(bytes), format: .zip) }

func expectNone(_ violations: [BlobViolation], sourceLocation: SourceLocation = #_sourceLocation) {
    let list = violations.map(\.description).joined(separator: "; ")
    #expect(violations.isEmpty, "\(list)", sourceLocation: sourceLocation)
}
