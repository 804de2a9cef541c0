import BlobStreamsStandard
import BlobTestSupport
import Foundation
import Testing

@testable import S3Source

/// Uploads that were interrupted, and continue by a state file. A part has 1,000 bytes.
@Suite(.timeLimit(.minutes(3))) struct S3ResumingTests {
    private let bytes = makeContent(7500)
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private var statePath: String { self.folder.path("a/state") }
    private var hasState: Bool { FileManager.default.fileExists(atPath: self.statePath) }

    private func upload(
        to store: StoringStore, _ source: (any BlobInputStreamDataSource)? = nil
    ) async throws -> S3Uploader.StoredObject {
        var uploader = try store.uploader()
        uploader.stateFile = self.statePath
        uploader.maximumPartsAtOnce = 1
        let source = source ?? MemorySource(self.bytes, validator: .strong("1"))
        return try await uploader.upload(source, to: "s3://bucket/key")
    }

    /// A store that refuses the part with this number while `fails`.
    private func store(refusing number: Int, while fails: Locked<Bool>) throws -> StoringStore {
        try StoringStore { _, request in
            request.parameter("partNumber") == "\(number)" && fails.withLock { $0 }
                ? .answer(StoringStore.error("AccessDenied", "403 Forbidden")) : .serve
        }
    }

    @Test(arguments: 1...8) func onlyTheMissingPartsAreSent(number: Int) async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: number, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        #expect(self.hasState && store.uploads.count == 1 && store.object == nil)
        fails.withLock { $0 = false }
        store.forgetRequests()
        _ = try await self.upload(to: store)
        #expect(store.object == self.bytes && store.uploads.isEmpty && !self.hasState)
        #expect(store.sentParts == Array(number...8))
    }

    /// A source that is read from its start to its end is read again, and compared.
    @Test func aSourceWithoutRandomAccessContinues() async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: 5, while: fails)
        let source = OneReaderSource(base: MemorySource(self.bytes, validator: .weak("1")))
        #expect(await asyncCodeThrown { try await self.upload(to: store, source) } == .permissionDenied)
        fails.withLock { $0 = false }
        store.forgetRequests()
        _ = try await self.upload(to: store, source)
        #expect(store.object == self.bytes && store.sentParts == Array(5...8) && !self.hasState)
    }

    @Test func aPartWithOtherBytesIsSentAgain() async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: 6, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        let identifier = try #require(store.uploads.keys.first)
        store.uploads[identifier]?[2]?[7] ^= 1
        store.uploads[identifier]?[3]?.removeLast()
        fails.withLock { $0 = false }
        store.forgetRequests()
        _ = try await self.upload(to: store)
        #expect(store.object == self.bytes && store.sentParts == [2, 3, 6, 7, 8])
    }

    @Test func otherContentBeginsAnewAndAbortsTheOld() async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: 6, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        fails.withLock { $0 = false }
        let other = makeContent(7501).suffix(7500)
        _ = try await self.upload(to: store, MemorySource(other, validator: .strong("2")))
        #expect(store.object == Array(other) && store.uploads.isEmpty && !self.hasState)
    }

    @Test func anUploadThatTheStoreLostBeginsAnew() async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: 6, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        fails.withLock { $0 = false }
        store.uploads = [:]
        _ = try await self.upload(to: store)
        #expect(store.object == self.bytes && store.uploads.isEmpty && !self.hasState)
    }

    /// A process that is killed after the store made the object leaves the state.
    @Test func anObjectThatIsThereIsNotSentAgain() async throws {
        let store = try StoringStore()
        let fails = Locked(true)
        let other = try self.store(refusing: 8, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: other) } == .permissionDenied)
        let state = try Data(contentsOf: self.folder.url("a/state"))
        _ = try await self.upload(to: store)
        try state.write(to: self.folder.url("a/state"))
        store.forgetRequests()
        _ = try await self.upload(to: store)
        #expect(store.sentParts.isEmpty && !self.hasState && store.uploads.isEmpty)
    }

    @Test func aDamagedStateBeginsAnew() async throws {
        let fails = Locked(true)
        let store = try self.store(refusing: 6, while: fails)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        let state = try Data(contentsOf: self.folder.url("a/state"))
        fails.withLock { $0 = false }
        for count in stride(from: 0, to: state.count, by: 20) {
            try state.prefix(count).write(to: self.folder.url("a/state"))
            _ = try await self.upload(to: store)
            #expect(store.object == self.bytes && !self.hasState)
        }
    }

    @Test func aSourceThatCannotBeComparedIsUnsupported() async throws {
        let store = try StoringStore()
        let sources: [any BlobInputStreamDataSource] = [
            pipeSource(Data(self.bytes)), pipeSource(Data(self.bytes), info: BlobInfo(validator: .weak("1"))),
        ]
        for source in sources {
            #expect(await asyncCodeThrown { try await self.upload(to: store, source) } == .unsupported)
        }
        #expect(store.requests.isEmpty)
    }

    /// A list that does not go on, or never ends, is an error.
    @Test(arguments: [
        "<ListPartsResult><IsTruncated>true</IsTruncated></ListPartsResult>",
        "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>0</NextPartNumberMarker></ListPartsResult>",
        "<ListPartsResult><Part><PartNumber>1</PartNumber></Part></ListPartsResult>",
        "<ListPartsResult><Part><PartNumber>0</PartNumber><Size>1</Size><ETag>x</ETag></Part></ListPartsResult>",
        "<ListPartsResult><Part><PartNumber>1</PartNumber><Size>-1</Size><ETag>x</ETag></Part></ListPartsResult>",
        "<Other/>",
    ]) func aListWithoutSenseIsAnError(text: String) async throws {
        let store = try StoringStore { _, request in
            if request.method == "GET" { return .answer(StoringStore.document(text)) }
            return request.method == "PUT" ? .answer(StoringStore.error("AccessDenied", "403 X")) : .serve
        }
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .permissionDenied)
        #expect(await asyncCodeThrown { try await self.upload(to: store) } == .corrupted)
    }
}
