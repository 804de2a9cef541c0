import AssetLibrarySource
import BlobStreams
import Foundation
import GRDB
import Testing

/// A library in a folder of its own, which goes with it.
final class TestLibrary: Sendable {
    let folder: URL
    let library: AssetLibrary

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("library-\(UUID().uuidString)")
        self.library = try AssetLibrary.create(at: self.folder)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func open(_ access: AssetLibrary.Access = .writing) throws -> AssetLibrary {
        try AssetLibrary(at: self.folder, for: access)
    }

    @discardableResult func add(_ bytes: [UInt8], named name: String? = "a.bin") throws -> Asset {
        try self.library.importAsset(from: MemorySource(Data(bytes)), name: name).asset
    }

    func path(_ name: String) -> String { "\(self.folder.path)/\(name)" }

    /// Works on the catalogue as another process would.
    @discardableResult func database<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let queue = try DatabaseQueue(path: self.path("catalog.sqlite"))
        defer { try? queue.close() }
        return try queue.write(body)
    }

    /// The value that a statement gives, if it gives one.
    func sql<Value: DatabaseValueConvertible>(_ sql: String, _ type: Value.Type) throws -> Value? {
        try self.database { try Value.fetchOne($0, sql: sql) }
    }

    func storedPath(of asset: Asset) throws -> String {
        let path = try self.sql(
            """
            SELECT path FROM original JOIN asset ON original_id = original.id WHERE uuid = '\(asset.id.uuidString)'
            """, String.self)
        return try #require(path)
    }

    func originalPath(of asset: Asset) throws -> String { self.path(try self.storedPath(of: asset)) }

    /// All files below the originals, but not folders, by their path within.
    var files: [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: self.path("originals"))) ?? []
        return names.filter {
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: self.path("originals/\($0)"), isDirectory: &isDirectory)
            return !isDirectory.boolValue
        }.sorted()
    }

    var assets: [Asset] {
        get throws {
            var assets: [Asset] = []
            try self.library.forEachAsset { assets.append($0) }
            return assets
        }
    }
}

/// Bytes with no short period, the same in every run.
func sampleBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        for start in stride(from: 0, to: count, by: 4) {
            withUnsafeBytes(of: (UInt32(truncatingIfNeeded: start / 4) &* 2_654_435_761).littleEndian) { word in
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[start...])
                    .copyBytes(from: word.prefix(count - start))
            }
        }
        initializedCount = count
    }
}

/// The bytes of one read.
func read(_ reader: BlobGuardedReader, upTo byteCount: Int) throws -> [UInt8] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 1)
    defer { buffer.deallocate() }
    return Array(buffer[..<(try reader.readWaiting(into: buffer))])
}

/// All bytes to the end.
func readAll(_ reader: BlobGuardedReader, inPiecesOf byteCount: Int = 1 << 16) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let piece = try read(reader, upTo: byteCount), !piece.isEmpty { bytes += piece }
    return bytes
}

/// The code of the `BlobError` that `body` throws; nil when it throws nothing.
func codeThrown(by body: () throws -> some Any) -> BlobError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return BlobError(wrapping: error).code
    }
}

/// Runs jobs that block on threads of their own, with their numbers from 0, and waits for all.
func onThreads<Value: Sendable>(
    _ count: Int, _ job: @escaping @Sendable (Int) throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup { group in
        for number in 0..<count {
            group.addTask {
                try await withCheckedThrowingContinuation { continuation in
                    Thread { continuation.resume(with: Result { try job(number) }) }.start()
                }
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// Collects the events of a context.
final class Events: Sendable {
    private let events = Locked<[BlobEvent]>([])

    var context: BlobContext { BlobContext(eventSink: { event in self.events.withLock { $0.append(event) } }) }

    var all: [BlobEvent] { self.events.withLock { $0 } }
}

func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

/// Writes into a file as it is, without replacing it.
func overwrite(_ path: String, at byteOffset: Int64, with bytes: [UInt8]) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(
        bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(byteOffset)) } == bytes.count)
}
