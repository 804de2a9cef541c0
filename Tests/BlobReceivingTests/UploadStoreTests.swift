import BlobCore
import BlobTestSupport
import Foundation
import Testing

@testable import BlobReceiving

/// Resumable uploads in a store of the caller, and what a failing store leaves behind.
@Suite struct UploadStoreTests {
    private func send(
        _ uploads: ResumableUploads, _ method: String, _ path: String, _ fields: [(name: String, value: String)],
        _ body: String = ""
    ) throws -> RequestAnswer {
        let head = RequestHead(method: method, target: path, fields: fields + [("Tus-Resumable", "1.0.0")])
        let receiver = try #require(try uploads.receiver(for: head))
        if !body.isEmpty { try receiver.receive(body) }
        return try receiver.answer()
    }

    private let patch = [(name: "Content-Type", value: "application/offset+octet-stream")]

    @Test func anUploadIsKeptInMemory() throws {
        let store = MemoryStore()
        let uploads = ResumableUploads(in: store, maximumByteCount: 100)
        let path = try #require(try self.send(uploads, "POST", "/", [("Upload-Length", "6")])["Location"])
        #expect(try self.send(uploads, "PATCH", path, self.patch + [("Upload-Offset", "0")], "abc").status == 204)
        // Another receiver of the store continues.
        let others = ResumableUploads(in: store, maximumByteCount: 100)
        #expect(try self.send(others, "HEAD", path, [])["Upload-Offset"] == "3")
        let answer = try self.send(others, "PATCH", path, self.patch + [("Upload-Offset", "3")], "def")
        #expect(answer.parts.map(\.byteCount) == [6] && answer.parts.first?.file == nil)
        #expect(store.published.withLock { $0 } == [Array("abcdef".utf8)])
        #expect(store.files.withLock { $0 }.isEmpty)
    }

    /// As on a full disk: the record cannot be stored.
    @Test func aCreationThatFailsLeavesNothing() throws {
        let store = MemoryStore()
        store.failsToKeep.withLock { $0 = true }
        let uploads = ResumableUploads(in: store, maximumByteCount: 100)
        #expect(throws: BlobError.self) { try self.send(uploads, "POST", "/", [("Upload-Length", "6")]) }
        #expect(store.files.withLock { $0 }.isEmpty)
    }

    /// Files of uploads that were given up, and of a record whose replacement was killed, are removed after a week.
    @Test func oldFilesAreRemoved() throws {
        let folder = try TemporaryFolder()
        let identifier = String(repeating: "a", count: 32)
        let names = [
            ".\(identifier).upload", ".\(identifier).upload.json", "..\(identifier).upload.json.1a2b",
            ".\(identifier.replacing("a", with: "b")).upload.json",
        ]
        for name in names + [".other", "upload"] {
            try Data().write(to: folder.url(name))
            let old = Date(timeIntervalSinceNow: -8 * 24 * 3600)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: folder.path(name))
        }
        let young = "..\(identifier).upload.json.9z"
        try Data().write(to: folder.url(young))
        _ = UploadFolder(folder.path)
        #expect(Set(folder.names) == [".other", "upload", young])
    }
}

/// A store in memory.
private final class MemoryStore: UploadStore {
    let files = Locked<[String: MemoryUpload]>([:])
    let records = Locked<[String: Data]>([:])
    let published = Locked<[[UInt8]]>([])
    let failsToKeep = Locked(false)

    func create(_ identifier: String) -> any StoredUpload {
        let upload = MemoryUpload(identifier, self)
        self.files.withLock { $0[identifier] = upload }
        return upload
    }

    func open(_ identifier: String) -> (any StoredUpload)? { self.files.withLock { $0[identifier] } }
    func record(of identifier: String) -> Data? { self.records.withLock { $0[identifier] } }

    func keep(record: Data, of identifier: String) throws(BlobError) {
        guard !self.failsToKeep.withLock({ $0 }) else { throw BlobError(systemError: ENOSPC, doing: "Could not store") }
        self.records.withLock { $0[identifier] = record }
    }

    func removeRecord(of identifier: String) { self.records.withLock { $0[identifier] = nil } }
}

private final class MemoryUpload: StoredUpload {
    private let identifier: String
    private let store: MemoryStore
    private let bytes = Locked<[UInt8]>([])
    private let state = Locked((isPresent: true, isPublished: false))

    init(_ identifier: String, _ store: MemoryStore) { (self.identifier, self.store) = (identifier, store) }

    var isPresent: Bool { self.state.withLock { $0.isPresent } }
    var isPublished: Bool { self.state.withLock { $0.isPublished } }
    func byteCount() -> Int64 { Int64(self.bytes.withLock { $0.count }) }

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: inout Int64) {
        self.bytes.withLock { $0 = Array($0.prefix(Int(byteOffset))) + bytes }
        byteOffset += Int64(bytes.count)
    }

    func read(_ byteCount: Int64, _ take: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        let bytes = self.bytes.withLock { Array($0.prefix(Int(byteCount))) }
        try BlobError.wrapping { try bytes.withUnsafeBytes { try take($0) } }
    }

    func truncate(to byteCount: Int64) { self.bytes.withLock { $0 = Array($0.prefix(Int(byteCount))) } }
    func synchronize() {}

    func publish(_ part: ReceivedPart) -> String? {
        self.state.withLock { $0.isPublished = true }
        self.store.published.withLock { $0.append(self.bytes.withLock { $0 }) }
        return nil
    }

    func discard() {
        self.state.withLock { $0.isPresent = false }
        self.store.files.withLock { $0[self.identifier] = nil }
    }
}
