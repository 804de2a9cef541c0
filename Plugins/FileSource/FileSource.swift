import BlobStreams
import Foundation

/// The bytes of a file, as it is when it is opened.
///
/// A regular file has random access and a length: readers see the snapshot of that length. A file that shrinks or is
/// rewritten under a reader is ``BlobError/Code/changed``, and so is one that was touched: the time of modification is all
/// that shows a rewrite of the same size. One that grows is read to the length it had if the last 4 KiB
/// that were delivered are still in their place, and is changed otherwise or under ``GrowthPolicy/strict``; one that is
/// replaced by another of its name is read to its old end. A file that was written anew and is larger cannot be told
/// from one that grew before something of it was delivered, or where those bytes are the same.
///
/// A FIFO is read once, from its start, and can be cancelled while it is empty. Folders, devices and sockets are
/// ``BlobError/Code/unsupported``. Files that tell no size (those of `/proc`) are read to their end.
public struct FileSource: BlobInputStreamDataSource {
    /// What it means when a file grows under a reader.
    public enum GrowthPolicy: Sendable {
        /// The snapshot ends where the file ended at opening: right for a log that is written to.
        case snapshot
        /// The content has changed: right when the bytes must be those of one moment.
        case strict
    }

    private let path: FilePath
    private let growth: GrowthPolicy
    private let fifoIsTaken = Locked(false)

    /// Creates a source for a path, which need not exist yet.
    ///
    /// - Parameters:
    ///   - path: Absolute, or relative to the current folder at this moment.
    ///   - growth: What it means when the file grows.
    public init(path: String, growth: GrowthPolicy = .snapshot) {
        self.init(pathBytes: Array(path.utf8), growth: growth)
    }

    /// Creates a source for a URL, which must be one of a file (`isFileURL`).
    public init(url: URL, growth: GrowthPolicy = .snapshot) {
        precondition(url.isFileURL, "FileSource reads what file URLs name.")
        // The path of a URL is text, and empty when its bytes are no UTF-8.
        let locator = try? BlobLocator(url.absoluteString)
        self.init(pathBytes: locator?.filePath ?? Array(url.path.utf8), growth: growth)
    }

    /// Creates a source for a path as the system has it: bytes, in no particular encoding.
    public init(pathBytes: [UInt8], growth: GrowthPolicy = .snapshot) {
        self.path = FilePath(pathBytes)
        self.growth = growth
    }

    /// Everything, for a regular file. What the path stands for may change: a FIFO can only be read once.
    public var capabilities: BlobCapabilities {
        guard let status = try? self.path.status() else { return .all }
        return status.isRegular ? .all : []
    }

    /// The locator, with scheme `file`.
    public var locator: BlobLocator? { BlobLocator(filePath: self.path.bytes) }

    /// Length, name and validator, from `stat(2)`.
    public func info(_ context: BlobContext) throws -> BlobInfo {
        let status = try self.path.status()
        guard status.isRegular, status.byteCount == 0 else { return try status.info(name: self.path.name) }
        // Only reading tells an empty file from one that does not tell its size.
        let descriptor = try FileDescriptor(opening: self.path)
        return try descriptor.info(name: self.path.name)
    }

    /// Opens the file; every reader has a descriptor of its own.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let descriptor = try FileDescriptor(opening: self.path)
        let info = try descriptor.info(name: self.path.name)
        try info.check(byteOffset: byteOffset, matching: validator)
        guard info.byteCount == nil else {
            return RegularFileReader(descriptor, info: info, at: byteOffset, growth: self.growth, context)
        }
        if descriptor.status.isFIFO, !self.fifoIsTaken.takeOnce() {
            throw BlobError(.unsupported, "The bytes of a FIFO pass by once, and were taken already.")
        }
        let reader = SequentialReader(descriptor, info: info)
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }
}
