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
    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.bytes.open(opening), InOrder(), startingAt: opening.byteOffset)
    }

    private static func info(of bytes: BlobInfo) -> BlobInfo {
        var info = bytes
        info.isRandomAccess = false
        return info
    }

    private struct InOrder: BlobInspector {
        func info(of base: BlobInfo) -> BlobInfo { SequentialSource.info(of: base) }
        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    }
}

/// A source that brings a byte a read.
struct OneByteSource: BlobInputStreamDataSource {
    let bytes: Data

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }
    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.bytes.count)) }
    func makeBody(_ opening: BlobOpening) -> BlobBody {
        .positional(self.describe(opening.context)) { offset, output in
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

    /// The members up to an error, and that error; blocks.
    func listing(_ context: BlobContext = BlobContext()) -> (members: [BlobMember], error: BlobError?) {
        var members: [BlobMember] = []
        do {
            try self.forEachMember(context) {
                members.append($0)
                return true
            }
            return (members, nil)
        } catch {
            return (members, BlobError(wrapping: error))
        }
    }

    /// All of its members.
    func members() async throws -> [BlobMember] {
        try await onThread {
            let (members, error) = self.listing()
            if let error { throw error }
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
